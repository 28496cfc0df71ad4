/**
 * The users of the provider: provisioners, agents and reviewers, each minding its own
 * business beside the others, and asking again when an answer is lost.
 */

import type { Answer, Call } from "./exchange.ts";
import type { Facts } from "./facts.ts";
import { LOST, type Network } from "./network.ts";
import { policyNumbered, TOOLS } from "./policies.ts";
import { requestIn } from "./promises/final.ts";
import { PRIVATE } from "./promises/no-secrets.ts";
import type { Receivers } from "./receivers.ts";
import type { Actor, World } from "./world.ts";

export interface Tokens {
  readonly provisioner: string;
  readonly reviewers: readonly string[];
}

export interface ClientParts {
  readonly world: World;
  readonly network: Network;
  readonly facts: Facts;
  readonly receivers: Receivers;
  readonly tokens: Tokens;
}

interface KnownInstance {
  readonly id: string;
  readonly token: string;
}

interface KnownRequest {
  readonly id: string;
  readonly instance: KnownInstance;
  readonly args: string;
}

const ACTIONS = {
  provision: 2,
  update: 2,
  remove: 0.4,
  create: 9,
  poll: 4,
  cancel: 1,
  verdict: 8,
  withdraw: 0.7,
  retry: 1,
  freeze: 0.4,
  publish: 0.4,
  show: 0.5,
};

const AT_ONCE_MAX = 16;
const BURST = 6;
/** Before there is anything to do with what they provision. */
const FIRST_AT_ONCE_MAX = 3;
const TRIES_MAX = 6;
const SOON_MS = 20_000;

/** Numbers and spellings that a parse and a write would change. */
const ODD = [
  '"n":9007199254740993',
  '"n":0',
  '"n":1e400',
  '"n":1.50',
  '"n":-0',
  '"n":"\\u0041\\/"',
  '"n":{"__proto__":[1,{"a":null}]}',
  '"n":[]',
];

export class Clients {
  readonly #parts: ClientParts;
  readonly #instances: KnownInstance[] = [];
  readonly #requests: KnownRequest[] = [];
  /** Created with a key each, to be sent again. */
  readonly #creates: Call[] = [];
  #count = 0;
  #policies = 0;
  /** Errands that are not over. */
  running = 0;

  constructor(parts: ClientParts) {
    this.#parts = parts;
  }

  /** Ends the deliveries of an instance, if it is one of these. */
  endDeliveriesOf(instanceId: string): void {
    const { draw } = this.#parts.world;
    this.start(draw.among(["remove", "update"] as const), instanceId);
  }

  /** The actions of one turn. */
  takeTurn(): void {
    const { draw } = this.#parts.world;
    if (draw.happens(0.08)) this.start();
    if (draw.happens(0.005)) this.#burst();
    if (draw.happens(0.002)) this.#deleteWhileDeciding();
  }

  /** Deletes the instance with the most pending requests while reviewers decide them. */
  #deleteWhileDeciding(): void {
    const byInstance = new Map<string, string[]>();
    for (const { id, instance_id: owner, status } of this.#parts.facts.snapshot.all("request")) {
      if (status !== "pending") continue;
      const ids = byInstance.get(String(owner)) ?? [];
      byInstance.set(String(owner), [...ids, String(id)]);
    }
    const [most] = [...byInstance].sort(([, a], [, b]) => b.length - a.length);
    if (most === undefined) return;
    const [instanceId, ids] = most;
    this.start("remove", instanceId);
    for (const id of ids.slice(0, BURST)) this.start("verdict", id);
  }

  /** Several who want the same at one time. */
  #burst(): void {
    const action = this.#parts.world.draw.among(["create", "verdict", "verdict"] as const);
    for (let i = 0; i < BURST; i++) this.start(action);
  }

  /**
   * Starts an action, unless too many are running.
   *
   * @param wanted which
   * @param about the id of the request or instance; an update of the instance removes its receiver
   */
  start(wanted?: keyof typeof ACTIONS, about?: string): void {
    const isFirst = this.#instances.length === 0;
    if (this.running >= (isFirst ? FIRST_AT_ONCE_MAX : AT_ONCE_MAX)) return;
    const { world } = this.#parts;
    const { draw } = world;
    const action = isFirst ? "provision" : (wanted ?? draw.weighted(ACTIONS));
    const name = `${action}-${++this.#count}`;
    const client: Actor = { name, isAlive: true, isFrozen: false };
    this.running++;
    const over = () => {
      this.running--;
      client.isAlive = false;
    };
    // A defect of the simulator is one of the run.
    const fail = (error: unknown) => {
      over();
      world.fail("simulator", error instanceof Error ? String(error.stack) : String(error));
    };
    this.#run(action, client, about).then(over, fail);
  }

  async #run(action: keyof typeof ACTIONS, client: Actor, about?: string): Promise<void> {
    if (action === "provision") return this.#provision(client);
    if (action === "publish") return this.#publish(client);
    const { draw } = this.#parts.world;
    const known = this.#instances.find(({ id }) => id === about);
    const instance = known ?? draw.among(this.#instances);
    if (action === "update") return this.#update(client, instance, known !== undefined);
    if (action === "remove") return this.#remove(client, instance);
    if (action === "create") return this.#create(client, instance);
    if (action === "freeze") return this.#freeze(client, instance);
    if (action === "show") {
      const { provisioner: token } = this.#parts.tokens;
      return void (await this.#submitWithRetries(client, { kind: "show", token, id: instance.id }));
    }
    if (this.#requests.length === 0) return;
    const request = this.#requests.find(({ id }) => id === about);
    if (request !== undefined) return this.#concern(action, client, request);
    const urgent = draw.happens(0.5) ? this.#mostUrgent() : undefined;
    // Otherwise mostly what came last.
    const others = draw.happens(0.7) ? this.#requests.slice(-6) : this.#requests;
    await this.#concern(action, client, urgent ?? draw.among(others));
  }

  /** The request with the earliest deadline: it may pass on the way. */
  #mostUrgent(): KnownRequest | undefined {
    const pending = this.#parts.facts.snapshot.all("request").filter(({ id, status }) => {
      return status === "pending" && this.#requests.some((known) => known.id === id);
    });
    const [first] = pending.sort((a, b) => Number(a.deadline_at) - Number(b.deadline_at));
    return this.#requests.find(({ id }) => id === first?.id);
  }

  async #concern(action: string, client: Actor, request: KnownRequest): Promise<void> {
    const { world, tokens } = this.#parts;
    const { draw } = world;
    const { id, instance, args } = request;
    const { token } = instance;
    const reviewer = draw.among(tokens.reviewers);
    if (action === "poll") {
      const waitMs = draw.among([0, 1_000, 30_000]);
      await this.#submitWithRetries(client, { kind: "get", token, id, waitMs });
    }
    if (action === "cancel") await this.#submitWithRetries(client, { kind: "cancel", token, id });
    if (action === "withdraw")
      await this.#submitWithRetries(client, { kind: "withdraw", token: reviewer, id });
    if (action === "retry")
      await this.#submitWithRetries(client, { kind: "retry", token: reviewer, id });
    if (action !== "verdict") return;
    if (draw.happens(0.5)) await this.#untilLate(client, id);
    const verdict = draw.happens(0.75) ? "approve" : "deny";
    const validityMs = draw.happens(0.3) ? draw.between(1, 3_000) * 1_000 : undefined;
    const holdMs = draw.happens(0.1) ? draw.between(1, 20_000) : undefined;
    const options = { validityMs, holdMs, args };
    await this.#submitWithRetries(client, {
      kind: "verdict",
      token: reviewer,
      id,
      verdict,
      ...options,
    });
  }

  /** Until right before or after the deadline, when that is soon. */
  async #untilLate(client: Actor, id: string): Promise<void> {
    const { world, facts } = this.#parts;
    const leftMs = Number(facts.snapshot.get("request", id)?.deadline_at ?? 0) - world.now;
    if (leftMs < 0 || leftMs > SOON_MS) return;
    const at = leftMs - world.draw.between(-300, Math.ceil(world.paceMs * 40));
    await world.sleep(client, at, "has taken its time");
  }

  async #provision(client: Actor): Promise<void> {
    const { tokens } = this.#parts;
    const key = `p${this.#count}`;
    const body = this.#instanceBody(`instance ${key}`);
    const call: Call = { kind: "provision", token: tokens.provisioner, key, body };
    await this.#submitMaybeTwice(client, call, this.#instanceBody(`instance ${key} b`));
  }

  async #update(client: Actor, { id }: KnownInstance, isRemoval: boolean): Promise<void> {
    const { tokens } = this.#parts;
    const key = `u${this.#count}`;
    const named = this.#instanceBody(`instance ${key}`, true);
    const body = isRemoval ? '{"delivery":null}' : named;
    const call: Call = { kind: "update", token: tokens.provisioner, id, key, body };
    await this.#submitMaybeTwice(client, call, this.#instanceBody(`instance ${key} b`, true));
  }

  async #remove(client: Actor, { id }: KnownInstance): Promise<void> {
    const { provisioner: token } = this.#parts.tokens;
    await this.#submitWithRetries(client, { kind: "delete", token, id });
  }

  async #create(client: Actor, { token }: KnownInstance): Promise<void> {
    const { draw } = this.#parts.world;
    if (draw.happens(0.2) && this.#creates.length > 0) {
      await this.#submitWithRetries(client, draw.among(this.#creates));
      return;
    }
    const key = `c${this.#count}`;
    const call: Call = { kind: "create", token, key, body: this.#requestBody() };
    this.#creates.push(call);
    await this.#submitMaybeTwice(client, call, this.#requestBody());
  }

  async #freeze(client: Actor, { id: instanceId }: KnownInstance): Promise<void> {
    const { world, tokens } = this.#parts;
    const [token = ""] = tokens.reviewers;
    const frozen = await this.#submitWithRetries(client, { kind: "freeze", token, instanceId });
    if (frozen.status !== 200) return;
    await world.sleep(client, world.draw.between(10, 20_000), "lets it be frozen");
    await this.#submitWithRetries(client, { kind: "lift", token, id: frozen.text });
  }

  async #publish(client: Actor): Promise<void> {
    const { tokens, facts } = this.#parts;
    const [token = ""] = tokens.reviewers;
    const source = policyNumbered(++this.#policies);
    const expected = facts.snapshot.all("policy_version").length;
    await this.#submitWithRetries(client, { kind: "publish", token, source, expected });
  }

  /** Now and then twice at the same time, or with another input under the same key. */
  async #submitMaybeTwice(
    client: Actor,
    call: Extract<Call, { readonly body: string }>,
    other: string,
  ): Promise<void> {
    const { draw } = this.#parts.world;
    const all = [this.#submitWithRetries(client, call)];
    if (draw.happens(0.2)) all.push(this.#submitWithRetries(client, call));
    if (draw.happens(0.1)) all.push(this.#submitWithRetries(client, { ...call, body: other }));
    await Promise.all(all);
  }

  /** Asks until there is an answer that says more than to ask again, or patience ends. */
  async #submitWithRetries(client: Actor, call: Call): Promise<Answer> {
    const { world, network, facts } = this.#parts;
    for (let tries = 1; tries <= TRIES_MAX; tries++) {
      facts.onCall(call);
      const answer = await network.ask(client, call);
      this.#learn(call, answer);
      const isOver = answer.status !== 0 && answer.status !== 503 && answer.status !== 429;
      if (isOver) return answer;
      await world.sleep(client, world.draw.between(10, 3_000), "tries again");
    }
    return LOST;
  }

  #learn(call: Call, { status, text }: Answer): void {
    const { holders } = this.#parts.facts;
    if (call.kind === "provision" && (status === 200 || status === 201)) {
      const { instance, credential } = JSON.parse(text) as Provisioned;
      if (this.#instances.some(({ id }) => id === instance.id)) return;
      this.#instances.push({ id: instance.id, token: credential.token });
      holders.set(credential.token, instance.id);
    }
    const request = requestIn(status, text);
    if (call.kind !== "create" || request === undefined) return;
    if (this.#requests.some(({ id }) => id === request.id)) return;
    const instance = this.#instances.find(({ token }) => token === call.token);
    const args = /"arguments":(.*),"timeout"/.exec(call.body)?.[1] ?? "";
    if (instance !== undefined) this.#requests.push({ id: request.id, instance, args });
  }

  #requestBody(): string {
    const { draw } = this.#parts.world;
    const tool = draw.among(TOOLS);
    const args = `{${draw.among(ODD)},"p" : "${PRIVATE} ${draw.below(1_000)}"}`;
    const timeout = draw.among(["1s", "3s", "10s", "30s", "2m", "10m", "1h", "168h"]);
    const context = draw.happens(0.3) ? ',"context":{"b":1E+2,"a":[ ]}' : "";
    return `{"tool":"${tool}","arguments":${args},"timeout":"${timeout}"${context}}`;
  }

  /** @param isUpdate may leave things as they are, or take the receiver away */
  #instanceBody(name: string, isUpdate = false): string {
    const { draw } = this.#parts.world;
    const isNamed = !isUpdate || draw.happens(0.6);
    const named = isNamed ? { instance_name: name } : {};
    const kind = draw.weighted({ receiver: 7, none: 2, removal: isUpdate ? 2 : 0 });
    if (kind === "removal") return JSON.stringify({ ...named, delivery: null });
    if (kind === "none" && isNamed) return JSON.stringify(named);
    return JSON.stringify({ ...named, delivery: this.#delivery() });
  }

  #delivery(): object {
    const { world, receivers } = this.#parts;
    const { draw } = world;
    const registrationId = draw.uuid();
    const secret = `whsec_${Buffer.from(draw.bytes(32)).toString("base64")}`;
    receivers.secrets.set(registrationId, secret);
    return {
      type: "webhook",
      url: `https://hooks-${draw.below(3)}.example.com/${registrationId}`,
      registration_id: registrationId,
      signing_secret: secret,
    };
  }
}

interface Provisioned {
  readonly instance: { readonly id: string };
  readonly credential: { readonly token: string };
}
