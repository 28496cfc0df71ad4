/**
 * Commands of fast-check over HTTP against a real server: they start without waiting for each
 * other, and what was answered about each request must be explained by some order in which they
 * happened one after another.
 *
 * COUNTERSIGN_MODEL_RUNS=2000 makes it a long run, COUNTERSIGN_MODEL_SEED repeats one.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import type { ApprovalRequest } from "@countersign/protocol";
import fc from "fast-check";
import { linearize, type Operation } from "../../../tools/linearizability/check.ts";
import {
  type Answered,
  isTerminal,
  REQUEST_MODEL,
  type RequestCall,
} from "../../../tools/linearizability/request-model.ts";
import { type Scene, startScene } from "./support/scene.ts";
import { SUBMISSION } from "./support/test-provider.ts";
import { turns } from "./support/until.ts";

const RUNS = Number(process.env.COUNTERSIGN_MODEL_RUNS ?? 25);
const SEED = process.env.COUNTERSIGN_MODEL_SEED;

const KEYS = 2;
const WINDOW = "10s";
const STEP_MS = 1_000;

/** One server for all runs, an instance for each. */
let scene: Scene;

function digestOf(n: number): string {
  return createHash("sha256").update(JSON.stringify({ n })).digest("hex");
}

/** The model that fast-check needs: it is not simulated, but searched for at the end. */
type Nothing = Readonly<Record<string, never>>;

/** One instance, and everything that was asked about its requests. */
class Real {
  readonly id: string;
  readonly #token: string;
  readonly #provisioner: string;
  readonly #prefix: string;
  readonly #histories: Operation<RequestCall, Answered>[][] = Array.from(
    { length: KEYS },
    () => [],
  );
  readonly #ids: (string | undefined)[] = [];
  readonly #outstanding = new Set<Promise<void>>();
  #tick = 0;

  constructor(instance: { readonly id: string; readonly token: string; provisioner: string }) {
    this.id = instance.id;
    this.#token = instance.token;
    this.#provisioner = instance.provisioner;
    this.#prefix = instance.id;
  }

  create(n: number): void {
    const body = { ...SUBMISSION, timeout: WINDOW, arguments: { n } };
    const call = { token: this.#token, key: `${this.#prefix}-${n}`, body };
    this.#start([n], { kind: "create" }, "POST", "/v1/requests", call);
  }

  ask(n: number, requestCall: RequestCall, query = ""): void {
    const id = this.#ids[n];
    // The id of a request that was not answered yet is unknown.
    if (id === undefined) return;
    const token = this.#token;
    if (requestCall.kind === "verdict") {
      const body = { verdict: requestCall.verdict, arguments_sha256: digestOf(n) };
      const call = { token: scene.reviewer, body };
      this.#start([n], requestCall, "POST", `/review/v1/requests/${id}/verdict`, call);
    } else if (requestCall.kind === "cancel") {
      this.#start([n], requestCall, "DELETE", `/v1/requests/${id}`, { token });
    } else {
      this.#start([n], requestCall, "GET", `/v1/requests/${id}${query}`, { token });
    }
  }

  delete(): void {
    const all = Array.from({ length: KEYS }, (_, n) => n);
    const token = this.#provisioner;
    this.#start(all, { kind: "delete" }, "DELETE", `/v1/instances/${this.id}`, { token });
  }

  /** Lets everything be answered; a long poll, when its time has passed. */
  async settle(): Promise<void> {
    while (this.#outstanding.size > 0) {
      await turns(4);
      if (this.#outstanding.size > 0) scene.clock.advance(STEP_MS);
    }
  }

  #start(
    of: readonly number[],
    input: RequestCall,
    ...[method, path, call]: Parameters<Scene["server"]["call"]>
  ): void {
    const calledAt = ++this.#tick;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#outstanding.add(promise);
    void scene.server.call<ApprovalRequest>(method, path, call).then(({ status, json }) => {
      const answeredAt = ++this.#tick;
      const output = { status, request: status < 300 ? json : undefined };
      for (const n of of) {
        const times = { calledAt, answeredAt };
        this.#histories[n]?.push({ input, output, ...times });
        if (input.kind === "delete") {
          this.#histories[n]?.push({ input: { kind: "delete-starts" }, output, ...times });
        }
        if (input.kind === "create" && status < 300) this.#ids[n] = json.id;
      }
      this.#outstanding.delete(promise);
      resolve();
    });
  }

  assertExplained(): void {
    for (const history of this.#histories) {
      for (const { output } of history) assertTimes(output?.request);
      if (linearize(REQUEST_MODEL, history) !== undefined) continue;
      assert.fail(`no order explains\n${history.map((one) => JSON.stringify(one)).join("\n")}`);
    }
  }
}

/** I6: approved before the deadline, expired not before it. */
function assertTimes(request: ApprovalRequest | undefined): void {
  if (request?.decision === undefined || !isTerminal(request.status)) return;
  const { status, decided_at, expires_at } = request.decision;
  const isInWindow = Date.parse(decided_at) < Date.parse(request.deadline_at);
  if (status === "approved") assert.ok(isInWindow, JSON.stringify(request));
  if (status === "expired") assert.ok(!isInWindow, JSON.stringify(request));
  assert.equal(expires_at !== undefined, status === "approved");
}

class Start implements fc.AsyncCommand<Nothing, Real> {
  readonly #what: string;
  readonly #start: (real: Real) => Promise<void> | void;

  constructor(what: string, start: (real: Real) => Promise<void> | void) {
    this.#what = what;
    this.#start = start;
  }

  check(): boolean {
    return true;
  }

  async run(_: Nothing, real: Real): Promise<void> {
    await this.#start(real);
  }

  toString(): string {
    return this.#what;
  }
}

const key = fc.nat(KEYS - 1);

function ofKey(what: string, start: (real: Real, n: number) => void) {
  return key.map((n) => new Start(`${what}(${n})`, (real) => start(real, n)));
}

function verdict(verdict: "approve" | "deny") {
  return ofKey(verdict, (real, n) => real.ask(n, { kind: "verdict", verdict }));
}

const create = ofKey("create", (real, n) => real.create(n));
const settle = fc.constant(new Start("settle", (real) => real.settle()));

const COMMANDS = [
  create,
  create,
  settle,
  settle,
  ofKey("cancel", (real, n) => real.ask(n, { kind: "cancel" })),
  verdict("approve"),
  verdict("deny"),
  ofKey("read", (real, n) => real.ask(n, { kind: "read" })),
  ofKey("poll", (real, n) => real.ask(n, { kind: "read" }, "?wait=5s")),
  fc.integer({ min: 1, max: 6 }).map((s) => {
    return new Start(`advance(${s} s)`, async () => {
      await turns(2);
      scene.clock.advance(s * 1_000);
    });
  }),
  // An operator's date, and what keeps clocks in time.
  fc.integer({ min: -20, max: 20 }).map((s) => {
    return new Start(`step(${s} s)`, () => scene.clock.set(scene.clock.now() + s * 1_000));
  }),
  fc.constant(new Start("delete", (real) => real.delete())),
];

test("[ours.request.linearizable] after concurrent operations, the answers of every request are explained by one order of its operations", async (t) => {
  scene = await startScene(t);
  const commands = fc.commands(COMMANDS, { maxCommands: 16, size: "max" });
  const property = fc.asyncProperty(commands, async (all) => {
    const real = new Real(await scene.server.instance());
    await fc.asyncModelRun(() => ({ model: {}, real }), all);
    await real.settle();
    real.assertExplained();
  });
  const seed = SEED === undefined ? {} : { seed: Number(SEED) };
  await fc.assert(property, { numRuns: RUNS, endOnFailure: RUNS <= 25, ...seed });
});
