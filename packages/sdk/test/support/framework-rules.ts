/**
 * The rules for every framework: a scripted agent proposes a dangerous call, and the real provider
 * holds, approves, denies, expires and cancels it. Each framework supplies a function that runs its
 * agent; the rules are the same.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  ApprovalClient,
  type ConsumptionStore,
  Countersign,
  type CountersignOptions,
  type DecisionWindow,
  MemoryStore,
} from "@countersign/sdk";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";
import type { NotRun } from "../../src/framework-call.ts";

export interface ScriptedCall {
  readonly id: string;
  readonly arguments: { readonly to: string; readonly cents: number };
}

/** One run of an agent whose model proposes these calls of `pay` in its first turn, then ends. */
export interface ScriptedRun {
  readonly approvals: Countersign;
  readonly runId: string;
  readonly calls: readonly ScriptedCall[];
  /** The tool. */
  readonly pay: (input: { to: string; cents: number }) => string;
  readonly timeout?: DecisionWindow;
  readonly signal?: AbortSignal;
  readonly onNotRun?: (notRun: NotRun) => void;
}

/** @returns the results that the model received in its second turn, in the order of the calls */
export type RunAgent = (run: ScriptedRun) => Promise<string[]>;

export interface Framework {
  readonly name: string;
  readonly runAgent: RunAgent;
}

const ends: (() => Promise<void> | void)[] = [];
let starting: Promise<AgentScene> | undefined;

// Here, and not where the scene is started: that is in a test, and would end with it.
after(async () => {
  for (const end of ends.reverse()) await end();
});

/** One server for the tests of a file; each test leaves nothing pending. */
export function sharedScene(): Promise<AgentScene> {
  starting ??= startAgentScene({ after: (end) => void ends.push(end) });
  return starting;
}

export function approvalsOf(
  { url, token }: AgentScene,
  options: CountersignOptions = {},
): Countersign {
  // A test that failed leaves no agent that waits for an hour.
  const bounds = { timeout: "1m", store: new MemoryStore(), logger: false } as const;
  return new Countersign({ url, apiKey: token, ...bounds, ...options });
}

const CALL = { id: "call_1", arguments: { to: "  A-1 ", cents: 500 } };

export const neverPays = (): string => assert.fail("it ran");

export function frameworkRules(framework: Framework): void {
  rulesOfDecisions(framework);
  rulesOfRuns(framework);
}

function rulesOfDecisions({ name, runAgent }: Framework): void {
  test(`[ours.sdk.frameworks.held] ${name}: a call is held until it is approved, and runs with the arguments that were asked`, async () => {
    const scene = await sharedScene();
    const paid: object[] = [];
    const pay = (input: { to: string; cents: number }) => {
      paid.push(input);
      return `paid ${input.to}`;
    };
    const ended = runAgent({ approvals: approvalsOf(scene), runId: "held/1", calls: [CALL], pay });
    const id = await scene.nextPending();
    assert.deepEqual(paid, []);
    const submitted = await scene.server.read(scene.token, id);
    await scene.server.decide(scene.reviewer, id, "approve");
    assert.deepEqual(await ended, ["paid A-1"]);
    assert.deepEqual(paid, [{ to: "A-1", cents: 500 }]);
    assert.deepEqual([submitted.tool, submitted.arguments], ["pay", paid[0]]);
    const { runtime, session_id: session, call_id: call } = Object(submitted.context);
    assert.deepEqual([runtime, session, call], [name, "held/1", "call_1"]);
  });

  test(`[ours.sdk.frameworks.words] ${name}: the model gets a text of its own for denied, expired, cancelled and undecided calls`, async () => {
    const scene = await sharedScene();
    const kinds: string[] = [];
    const onNotRun = ({ notRun }: NotRun) => void kinds.push(notRun);
    const base = { approvals: approvalsOf(scene), calls: [CALL], pay: neverPays, onNotRun };
    const denied = runAgent({ ...base, runId: "denied" });
    await scene.decideNext("deny", { note: "Not that customer." });
    assert.deepEqual(await denied, ["This call was denied: Not that customer."]);
    const expired = await runAgent({ ...base, runId: "expired", timeout: "1s" });
    assert.match(expired[0] ?? "", /^No reviewer decided about this call in time/);
    const cancelled = runAgent({ ...base, runId: "cancelled" });
    await new ApprovalClient({ url: scene.url, apiKey: scene.token }).cancel(
      await scene.nextPending(),
    );
    assert.match((await cancelled)[0] ?? "", /^The approval request of this call was cancelled/);
    const nowhere = new Countersign({
      url: "http://127.0.0.1:1",
      apiKey: "t",
      retryFor: "50ms",
      store: new MemoryStore(),
    });
    const undecided = await runAgent({ ...base, runId: "undecided", approvals: nowhere });
    assert.match(undecided[0] ?? "", /^No decision was received for this call/);
    assert.deepEqual(kinds, ["denied", "expired", "cancelled", "no_decision"]);
  });
}

function rulesOfRuns({ name, runAgent }: Framework): void {
  test(`[ours.sdk.frameworks.abort] ${name}: a run that is aborted takes its request back, and runs nothing`, async () => {
    const scene = await sharedScene();
    const abandoned = new AbortController();
    const { signal } = abandoned;
    const runId = "aborted";
    const ended = runAgent({
      approvals: approvalsOf(scene),
      runId,
      calls: [CALL],
      pay: neverPays,
      signal,
    });
    const settled = Promise.allSettled([ended]);
    const id = await scene.nextPending();
    abandoned.abort();
    await settled;
    const client = new ApprovalClient({ url: scene.url, apiKey: scene.token });
    assert.equal((await client.read(id, { wait: "25s" })).status, "cancelled");
  });

  test(`[ours.sdk.frameworks.once] ${name}: a run that is started again asks once and runs once`, async () => {
    const scene = await sharedScene();
    const store: ConsumptionStore = new MemoryStore();
    const before = await scene.countRequests();
    let paid = 0;
    const start = () => {
      const pay = () => `paid ${++paid}`;
      return runAgent({
        approvals: approvalsOf(scene, { store }),
        runId: "once",
        calls: [CALL],
        pay,
      });
    };
    const first = start();
    await scene.decideNext("approve");
    assert.deepEqual(await first, ["paid 1"]);
    assert.match((await start())[0] ?? "", /^The approval of this call was used before/);
    assert.equal(paid, 1);
    assert.equal(await scene.countRequests(), before + 1);
  });

  test(`[ours.sdk.frameworks.turn] ${name}: two calls of one turn are held and decided each for itself`, async () => {
    const scene = await sharedScene();
    const calls = [CALL, { id: "call_2", arguments: { to: "B-2", cents: 7 } }];
    const paid: string[] = [];
    const pay = ({ to }: { to: string }) => {
      paid.push(to);
      return `paid ${to}`;
    };
    const ended = runAgent({ approvals: approvalsOf(scene), runId: "turn", calls, pay });
    for (let i = 0; i < calls.length; i++) {
      const id = await scene.nextPending();
      const { arguments: submitted } = await scene.server.read(scene.token, id);
      const verdict = Object(submitted).to === "A-1" ? "approve" : "deny";
      await scene.server.decide(scene.reviewer, id, verdict);
    }
    assert.deepEqual(await ended, ["paid A-1", "This call was denied."]);
    assert.deepEqual(paid, ["A-1"]);
  });
}
