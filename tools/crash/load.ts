/**
 * The callers: agents that submit, wait and cancel, reviewers who decide against each other, and a
 * provisioner that makes instances and deletes them, all of them through the SDK where it has a
 * word for it. They go on while servers die; their answers go to the journal.
 */

import { createHash } from "node:crypto";
import {
  ApprovalClient,
  type ApprovalRequest,
  type DecisionWindow,
  type Duration,
  Provisioner,
  type ProvisionerOptions,
  parseJson,
  SdkError,
  systemTiming,
  type Timing,
} from "@countersign/sdk";
import type { Chance } from "../simulator/random.ts";
import type { Intent, Journal, KnownInstance, Submission } from "./journal.ts";
import { ANYWHERE } from "./place.ts";
import type { Receivers } from "./receivers.ts";

/** Among those an instance is chosen; one that is deleted is replaced. */
const INSTANCES = 8;

/** Requests are chosen among so many of the newest, so that they meet. */
const RECENT = 40;

/** Longer than it takes to start a server on a busy machine. */
const PATIENT = "30s";

/** A server lives for less than the pauses that callers make otherwise. */
const PAUSE_MS_MAX = 80;
const HURRIED: Timing = {
  ...systemTiming,
  sleep: (ms, signal) => systemTiming.sleep(Math.min(ms, PAUSE_MS_MAX), signal),
};

const IMPATIENT = "400ms";

export interface Callers {
  readonly journal: Journal;
  readonly receivers: Receivers;
  readonly fetch: typeof fetch;
  readonly provisioner: string;
  /** Two, who want different things. */
  readonly reviewers: readonly string[];
  /** That a request may expire in the midst of it all. */
  readonly shortTimeouts: readonly string[];
}

/** Polls for the result of each request until this is called. */
export class Worker {
  readonly #callers: Callers;
  readonly #chance: Chance;
  readonly #name: string;
  #count = 0;

  constructor(callers: Callers, name: string, chance: Chance) {
    this.#callers = callers;
    this.#name = name;
    this.#chance = chance;
  }

  /** Makes instances until there are enough. */
  async prepare(): Promise<void> {
    while (this.#callers.journal.instances.length < INSTANCES) await this.#provision();
  }

  /** One thing that a caller does. @throws never: what must not be is in the journal */
  async act(): Promise<void> {
    const { journal } = this.#callers;
    try {
      await this.#act();
    } catch (error) {
      const text = error instanceof SdkError ? `${error.code} ${error.message}` : String(error);
      journal.violate("I2", `${this.#name} was answered what it cannot be answered: ${text}`);
    }
  }

  async #act(): Promise<void> {
    const { journal } = this.#callers;
    const live = journal.instances.filter(({ isDeleting }) => !isDeleting);
    if (live.length < INSTANCES) return this.#provision();
    const instance = this.#one(live) as KnownInstance;
    const roll = this.#chance();
    if (roll < 0.02) return this.#delete(instance);
    if (roll < 0.5) return this.#submit(instance);
    const submission = this.#one(journal.submissions.slice(-RECENT));
    if (submission === undefined) return this.#submit(instance);
    if (roll < 0.55) return this.#resubmit(submission);
    const { known } = submission;
    if (known === undefined) return this.#resubmit(submission);
    if (roll < 0.6) return this.#read(submission, known, "1s");
    if (roll < 0.65) return this.#read(submission, known);
    if (roll < 0.8) return this.#decide(submission, known, 0);
    if (roll < 0.9) return this.#cancel(submission, known);
    await Promise.all([
      this.#decide(submission, known, 0),
      this.#decide(submission, known, 1),
      this.#cancel(submission, known),
    ]);
  }

  async #provision(): Promise<void> {
    const { journal, receivers, provisioner } = this.#callers;
    const kinds = [undefined, "steady", "steady", "failing"] as const;
    const receiver = this.#one(kinds);
    const key = this.#fresh("instance");
    const delivery = receiver === undefined ? undefined : receivers.propose(receiver);
    const input = { idempotencyKey: key, name: key, delivery };
    const made = new Provisioner({ url: ANYWHERE, token: provisioner, ...this.#options(PATIENT) });
    // A receiver that fails may fail its verification, and then nothing is made.
    const created = await settle(made.create(input), ["webhook_verification_failed"]);
    if (created === undefined) return;
    const { instance, credential } = created;
    const token = credential.take();
    const deletion = { isDeleting: false, deletedAt: undefined };
    const known: KnownInstance = { id: instance.id, token, key, receiver, ...deletion };
    journal.provisioned(known);
    if (this.#chance() > 0.3) return;
    const repeated = settle(made.create(input), ["webhook_verification_failed"]);
    const again = await repeated.catch((error: unknown) => {
      const isGone = error instanceof SdkError && error.providerCode === "instance_deleted";
      // Another caller may have deleted it meanwhile.
      if (isGone && known.isDeleting) return undefined;
      throw error;
    });
    if (again === undefined) return;
    journal.provisioned({ ...known, id: again.instance.id, token: again.credential.take() });
  }

  async #delete(instance: KnownInstance): Promise<void> {
    const { provisioner } = this.#callers;
    instance.isDeleting = true;
    const made = new Provisioner({ url: ANYWHERE, token: provisioner, ...this.#options(PATIENT) });
    const done = await settle(made.delete(instance.id).then(() => true));
    if (done) instance.deletedAt ??= Date.now();
  }

  async #submit(instance: KnownInstance): Promise<void> {
    const { journal, shortTimeouts } = this.#callers;
    const key = this.#fresh("request");
    const filler = "x".repeat(Math.floor(this.#chance() ** 4 * 20_000));
    // A number that no double holds, a spelling that JSON.parse would lose.
    const numbers = `"n": 1.50e1,"big":9007199254740993${this.#count}`;
    const source = `{"key": ${JSON.stringify(key)}, ${numbers},"filler":"${filler}"}`;
    const timeout = this.#chance() < 0.2 ? (this.#one(shortTimeouts) ?? "1h") : "1h";
    await this.#resubmit(journal.add({ instance, key, source, timeout }));
  }

  async #resubmit(submission: Submission): Promise<void> {
    const { key, source, timeout } = submission;
    const input = {
      idempotencyKey: key,
      tool: "deploy",
      arguments: parseJson(source) as object,
      timeout,
    };
    await this.#observe(submission, (client) => client.create(input));
  }

  async #read(
    submission: Submission,
    known: ApprovalRequest,
    wait?: DecisionWindow,
  ): Promise<void> {
    await this.#observe(submission, (client) => client.read(known, { wait }));
  }

  async #cancel(submission: Submission, known: ApprovalRequest): Promise<void> {
    submission.intents.add("cancel");
    await this.#observe(submission, (client) => client.cancel(known), ["already_terminal"]);
  }

  async #observe(
    submission: Submission,
    ask: (client: ApprovalClient) => Promise<ApprovalRequest>,
    allowed: readonly string[] = [],
  ): Promise<void> {
    const askedAt = performance.now();
    const request = await this.#of(submission.instance, ask, allowed);
    if (request !== undefined) this.#callers.journal.observe(submission, request, askedAt);
  }

  /** Asks as an instance; once it is being deleted, its credential may be gone. */
  async #of(
    instance: KnownInstance,
    ask: (client: ApprovalClient) => Promise<ApprovalRequest>,
    allowed: readonly string[],
  ): Promise<ApprovalRequest | undefined> {
    // Some give up at once and never learn what became of it.
    const retryFor = this.#chance() < 0.3 ? IMPATIENT : PATIENT;
    try {
      const by = { url: ANYWHERE, apiKey: instance.token };
      const client = new ApprovalClient({ ...by, ...this.#options(retryFor) });
      return await settle(ask(client), allowed);
    } catch (error) {
      const isGone = error instanceof SdkError && error.providerCode === "invalid_credential";
      if (isGone && instance.isDeleting) return undefined;
      throw error;
    }
  }

  /** @param by which of the reviewers; the second one wants the opposite of the first */
  async #decide(submission: Submission, { id }: ApprovalRequest, by: number): Promise<void> {
    const { fetch: send, reviewers } = this.#callers;
    const verdict: Intent = this.#chance() < 0.5 === (by === 0) ? "approve" : "deny";
    submission.intents.add(verdict);
    const digest = createHash("sha256").update(submission.source).digest("hex");
    const answer = await send(`${ANYWHERE}/review/v1/requests/${id}/verdict`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${reviewers[by]}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({ verdict, arguments_sha256: digest }),
    }).catch((error: unknown) => {
      // The process was killed: nothing was promised.
      if (!(error instanceof TypeError)) throw error;
      return undefined;
    });
    const text = await answer?.text().catch(() => undefined);
    if (answer === undefined || text === undefined) return;
    if (![200, 409, 503].includes(answer.status)) throw new Error(`a verdict is ${text}`);
    if (answer.status !== 200) return;
    const { status, decision } = JSON.parse(text) as {
      readonly status: string;
      readonly decision?: { readonly decided_at: string };
    };
    const known = submission.known?.decision;
    const reported = Date.parse(decision?.decided_at ?? "");
    if (known === undefined || (known.status === status && known.decidedAt === reported)) return;
    this.#callers.journal.violate("I1", `${id} was ${known.status}, a reviewer got ${text}`);
  }

  #options(retryFor: Duration): Omit<ProvisionerOptions, "token"> {
    return { fetch: this.#callers.fetch, retryFor, timing: HURRIED };
  }

  #one<T>(from: readonly T[]): T | undefined {
    return from[Math.floor(this.#chance() * from.length)];
  }

  #fresh(what: string): string {
    return `${what} ${this.#name}-${++this.#count}`;
  }
}

/**
 * @param allowed codes of the provider that are a good answer here
 * @returns undefined when it was refused so, or when no answer came
 */
export async function settle<T>(
  pendingRequest: Promise<T>,
  allowed: readonly string[] = [],
): Promise<T | undefined> {
  try {
    return await pendingRequest;
  } catch (error) {
    if (!(error instanceof SdkError)) throw error;
    if (error.code === "unavailable") return undefined;
    if (allowed.includes(error.providerCode ?? "")) return undefined;
    throw error;
  }
}
