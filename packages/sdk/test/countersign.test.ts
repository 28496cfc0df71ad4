/**
 * The gate in front of the real provider: when a call runs, and why it does not.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJson } from "@countersign/protocol";
import {
  ApprovalClient,
  type ApprovalProvider,
  type ConsumptionStore,
  Countersign,
  type CountersignOptions,
  type CreateInput,
  JsonObject,
  MemoryStore,
} from "@countersign/sdk";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";
import { enforce, policyOf } from "../../server/test/support/policies.ts";
import { readSubmission } from "../src/approval-client.ts";
import { manualTiming } from "./support/manual-timing.ts";

function approvalsOf({ url, token }: AgentScene, options: CountersignOptions = {}) {
  return new Countersign({ url: url, apiKey: token, store: new MemoryStore(), ...options });
}

const CALL = {
  idempotencyKey: "run-1/call-1",
  tool: "deploy",
  arguments: { env: "prod", replicas: 3 },
};

const neverRuns = () => assert.fail("it ran");

test("[ours.sdk.gate.fail-closed] a call waits for its approval, and runs with what was approved", async (t) => {
  const scene = await startAgentScene(t);
  const run = (approved: typeof CALL.arguments) => `${approved.env}:${approved.replicas}`;
  const guarded = approvalsOf(scene).run({ ...CALL, reasoning: "it is time" }, run);
  const id = await scene.decideNext("approve", { note: "after lunch" });
  const outcome = await guarded;
  assert.ok(outcome.status === "executed");
  assert.equal(outcome.value, "prod:3");
  const { requestId, note, isDevelopment } = outcome;
  assert.deepEqual([requestId, note, isDevelopment], [id, "after lunch", false]);
});

test("[ours.sdk.gate.words] a denial reaches the model with the reviewer's note", async (t) => {
  const scene = await startAgentScene(t);
  const approvals = approvalsOf(scene);
  const first = approvals.run(CALL, neverRuns);
  await scene.decideNext("deny", { note: "Not on a Friday." });
  const outcome = await first;
  assert.ok(outcome.status !== "executed" && outcome.reason === "denied");
  assert.equal(outcome.messageForModel, "This call was denied: Not on a Friday.");
  assert.equal(outcome.note, "Not on a Friday.");
  const second = approvals.check({ ...CALL, idempotencyKey: "another" });
  await scene.decideNext("deny");
  const verdict = await second;
  assert.ok(verdict.status === "denied");
  assert.equal(verdict.messageForModel, "This call was denied.");
});

test("[ours.sdk.gate.words] expired, cancelled and undecided have different verdicts, and none is a denial", async (t) => {
  const scene = await startAgentScene(t);
  const expired = await approvalsOf(scene).check({ ...CALL, idempotencyKey: "a", timeout: "1s" });
  const waiting = approvalsOf(scene).check({ ...CALL, idempotencyKey: "b" });
  await new ApprovalClient({ url: scene.url, apiKey: scene.token }).cancel(
    await scene.nextPending(),
  );
  const cancelled = await waiting;
  const nowhere = new Countersign({
    url: "http://127.0.0.1:1",
    apiKey: "t",
    retryFor: "50ms",
    store: new MemoryStore(),
  });
  const undecided = await nowhere.check(CALL);
  const verdicts = [expired, cancelled, undecided];
  assert.deepEqual(
    verdicts.map(({ status }) => status),
    ["expired", "cancelled", "unavailable"],
  );
  const reasons = verdicts.map((verdict) =>
    verdict.status === "approved" ? "" : verdict.messageForModel,
  );
  assert.equal(new Set(reasons).size, 3);
  for (const reason of reasons) assert.doesNotMatch(reason, /denied this call/);
});

test("[ours.sdk.gate.once] a key starts one call, for any number of simultaneous submissions", async (t) => {
  const scene = await startAgentScene(t);
  await enforce(scene.server, policyOf("{ id: all, match: { tool: '*' }, then: approve }"));
  const store = new MemoryStore();
  const gates = [approvalsOf(scene, { store }), approvalsOf(scene, { store })];
  let runs = 0;
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, i) => gates[i % 2]?.run(CALL, () => ++runs)),
  );
  assert.equal(runs, 1);
  assert.equal(outcomes.filter((outcome) => outcome?.status === "executed").length, 1);
  for (const outcome of outcomes) {
    if (outcome?.status === "unavailable") assert.equal(outcome.reason, "already_used");
  }
  assert.equal(await scene.countRequests(), 1);
});

test("[ours.sdk.gate.once] a tool that fails has run: its error is the caller's, and it is not run again", async (t) => {
  const scene = await startAgentScene(t);
  await enforce(scene.server, policyOf("{ id: all, match: { tool: '*' }, then: approve }"));
  const approvals = approvalsOf(scene);
  const failure = new Error("the tool failed");
  const failing = approvals.run(CALL, () => {
    throw failure;
  });
  await assert.rejects(failing, failure);
  const again = await approvals.run(CALL, neverRuns);
  assert.ok(again.status !== "executed" && again.reason === "already_used");
});

test("[ours.sdk.gate.arguments] the tool receives a mutable copy of the submitted arguments, even if the original changes", async (t) => {
  const scene = await startAgentScene(t);
  const original = { to: "A-1", list: [{ cents: 5 }] };
  const guarded = approvalsOf(scene).run(
    { idempotencyKey: "k", tool: "pay", arguments: original },
    (approved) => {
      const received = structuredClone(approved);
      approved.to = "changed by the tool";
      approved.list.push({ cents: 7 });
      return received;
    },
  );
  original.to = "B-2";
  original.list.push({ cents: 6 });
  const id = await scene.decideNext("approve");
  const outcome = await guarded;
  assert.ok(outcome.status === "executed");
  assert.deepEqual(outcome.value, { to: "A-1", list: [{ cents: 5 }] });
  const stored = await scene.server.read(scene.token, id);
  assert.deepEqual(stored.arguments, outcome.value);
});

test("[ours.sdk.gate.arguments] numbers that a double cannot hold are submitted and approved exactly", async (t) => {
  const scene = await startAgentScene(t);
  const json = parseJson('{"n":12345678901234567890.10,"__proto__":1e400,"e":"\\u00e9"}');
  assert.ok(json instanceof JsonObject);
  const approvals = approvalsOf(scene);
  const exact = approvals.run(
    { idempotencyKey: "k1", tool: "pay", arguments: json },
    ({ source }) => source,
  );
  await scene.decideNext("approve");
  const first = await exact;
  assert.ok(first.status === "executed");
  assert.equal(first.value, json.source);
  const big = { amount: 9007199254740993n };
  const second = approvals.run(
    { idempotencyKey: "k2", tool: "pay", arguments: big },
    ({ amount }) => amount,
  );
  const id = await scene.decideNext("approve");
  const { text } = await scene.server.call("GET", `/v1/requests/${id}`, { token: scene.token });
  assert.match(text, /"amount":9007199254740993\}/);
  const outcome = await second;
  assert.ok(outcome.status === "executed");
  assert.equal(outcome.value, 9007199254740993n);
});

test("[ours.sdk.gate.abandon] a call with an aborted signal never runs, and its request is cancelled", async (t) => {
  const scene = await startAgentScene(t);
  const abandoning = new AbortController();
  const approvals = approvalsOf(scene);
  const guarded = approvals.run({ ...CALL, signal: abandoning.signal }, neverRuns);
  const id = await scene.nextPending();
  abandoning.abort();
  const outcome = await guarded;
  assert.ok(outcome.status !== "executed" && outcome.reason === "abandoned");
  await approvals.settled();
  assert.equal((await scene.server.read(scene.token, id)).status, "cancelled");
});

test("[ours.sdk.gate.abandon] a call that is aborted during submission is cancelled when its id is known", async (t) => {
  const scene = await startAgentScene(t);
  const abandoning = new AbortController();
  // The answer to the submission is on its way when the caller goes.
  const late: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (init?.method === "POST") abandoning.abort();
    return response;
  };
  const approvals = new Countersign({
    url: scene.url,
    apiKey: scene.token,
    fetch: late,
    store: new MemoryStore(),
  });
  const outcome = await approvals.run({ ...CALL, signal: abandoning.signal }, neverRuns);
  assert.ok(outcome.status !== "executed" && outcome.reason === "abandoned");
  await approvals.settled();
  const { store } = scene.server.provider.context;
  const rows = await store.all("select status from request");
  assert.deepEqual(
    rows.map(({ status }) => status),
    ["cancelled"],
  );
});

test("[ours.sdk.gate.abandon] an abandoned call settles before its request is cancelled", async () => {
  const abandoning = new AbortController();
  const cancelled = Promise.withResolvers<void>();
  const cancelling = Promise.withResolvers<void>();
  let reads = 0;
  const request = (input: CreateInput) => ({
    ...readSubmission(input),
    id: "0197f3c5-3e7c-7a7e-8d3b-1d2a3c4b5e6f",
    status: "pending" as const,
    createdAt: Date.now(),
    deadlineAt: Date.now() + 60_000,
    decision: undefined,
  });
  const provider: ApprovalProvider = {
    url: "test:",
    isDevelopment: false,
    create: async (input) => request(input),
    read: async () => {
      reads++;
      abandoning.abort();
      return new Promise(() => {});
    },
    cancel: async () => {
      cancelling.resolve();
      await cancelled.promise;
      throw new Error("gone");
    },
  };
  const approvals = new Countersign({ provider, store: new MemoryStore() });
  const outcome = await approvals.run({ ...CALL, signal: abandoning.signal }, neverRuns);
  assert.ok(outcome.status !== "executed" && outcome.reason === "abandoned");
  assert.equal(reads, 1);
  let hasSettled = false;
  const settling = approvals.settled().then(() => {
    hasSettled = true;
  });
  await cancelling.promise;
  assert.equal(hasSettled, false);
  cancelled.resolve();
  await settling;
});

test("[ours.sdk.gate.abandon] an unreachable provider does not block an abandoned call", async () => {
  const abandoning = new AbortController();
  const gone: typeof fetch = () => {
    queueMicrotask(() => abandoning.abort());
    return new Promise(() => {});
  };
  const approvals = new Countersign({
    url: "http://localhost:1",
    apiKey: "t",
    fetch: gone,
    store: new MemoryStore(),
    cancelTimeout: "20ms",
  });
  const outcome = await approvals.run({ ...CALL, signal: abandoning.signal }, neverRuns);
  assert.ok(outcome.status !== "executed" && outcome.reason === "abandoned");
});

test("[ours.sdk.gate.abandon] a call that is aborted after the approval and before the start does not run", async (t) => {
  const scene = await startAgentScene(t);
  await enforce(scene.server, policyOf("{ id: all, match: { tool: '*' }, then: approve }"));
  const abandoning = new AbortController();
  const store: ConsumptionStore = {
    consume: async () => {
      abandoning.abort();
      return true;
    },
  };
  const outcome = await approvalsOf(scene, { store }).run(
    { ...CALL, signal: abandoning.signal },
    neverRuns,
  );
  assert.ok(outcome.status !== "executed" && outcome.reason === "abandoned");
});

test("[ours.sdk.gate.abandon] a store that hangs does not block an abandoned call, and the call does not run", async (t) => {
  const scene = await startAgentScene(t);
  await enforce(scene.server, policyOf("{ id: all, match: { tool: '*' }, then: approve }"));
  const abandoning = new AbortController();
  const store: ConsumptionStore = {
    consume: () => {
      setImmediate(() => abandoning.abort());
      return new Promise(() => {});
    },
  };
  const call = { ...CALL, signal: abandoning.signal };
  const outcome = await approvalsOf(scene, { store }).run(call, neverRuns);
  assert.ok(outcome.status !== "executed" && outcome.reason === "abandoned");
});

test("[ours.sdk.gate.validity] an approval that expires while its use is recorded starts no call", async (t) => {
  const scene = await startAgentScene(t);
  await enforce(scene.server, policyOf("{ id: all, match: { tool: '*' }, then: approve }"));
  const timing = manualTiming();
  const memory = new MemoryStore();
  const store: ConsumptionStore = {
    consume: (id) => {
      timing.pass(200_000);
      return memory.consume(id);
    },
  };
  const approvals = approvalsOf(scene, { store, timing });
  const outcome = await approvals.run(CALL, neverRuns);
  assert.ok(outcome.status !== "executed" && outcome.reason === "lapsed");
  timing.set(Date.now());
  const late = approvalsOf(scene, { store, timing });
  assert.equal((await late.check({ ...CALL, idempotencyKey: "checked" })).status, "expired");
});

test("[ours.sdk.gate.validity] an expired approval is not used up, and is reported as expired", async (t) => {
  const scene = await startAgentScene(t);
  await enforce(scene.server, policyOf("{ id: all, match: { tool: '*' }, then: approve }"));
  const store: ConsumptionStore = { consume: async () => assert.fail("it was recorded") };
  const timing = manualTiming(Date.now() + 600_000);
  const outcome = await approvalsOf(scene, { store, timing }).run(CALL, neverRuns);
  assert.ok(outcome.status !== "executed" && outcome.reason === "lapsed");
  assert.match(outcome.messageForModel, /approval of this call has expired/);
});

test("[ours.sdk.gate.validity] [service.execution] a checked call may start until its approval ends, and then no more", async (t) => {
  const scene = await startAgentScene(t);
  await enforce(scene.server, policyOf("{ id: all, match: { tool: '*' }, then: approve }"));
  const timing = manualTiming();
  const verdict = await approvalsOf(scene, { timing }).check(CALL);
  assert.ok(verdict.status === "approved");
  assert.equal(verdict.mayStart(), true);
  timing.pass(verdict.expiresAt - timing.now());
  assert.equal(verdict.mayStart(), false);
  timing.set(verdict.expiresAt - 60_000);
  assert.equal(verdict.mayStart(), false);
});

test("[ours.sdk.gate.fail-closed] when the use of an approval cannot be recorded, the call does not run", async (t) => {
  const scene = await startAgentScene(t);
  await enforce(scene.server, policyOf("{ id: all, match: { tool: '*' }, then: approve }"));
  const broken = new Error("disk full");
  const failing: ConsumptionStore = { consume: () => Promise.reject(broken) };
  const outcome = await approvalsOf(scene, { store: failing }).run(CALL, neverRuns);
  assert.ok(outcome.status !== "executed" && outcome.reason === "not_recorded");
  assert.equal(outcome.error, broken);
  // A store of plain JavaScript that answers nothing has not said yes.
  const silent = { consume: async () => undefined } as unknown as ConsumptionStore;
  const other = await approvalsOf(scene, { store: silent }).run(
    { ...CALL, idempotencyKey: "k" },
    neverRuns,
  );
  assert.ok(other.status !== "executed" && other.reason === "already_used");
});

test("[ours.sdk.gate.fail-closed] after an error of the provider, the call does not run", async (t) => {
  const scene = await startAgentScene(t);
  const revoked = new Countersign({
    url: scene.url,
    apiKey: scene.reviewer,
    store: new MemoryStore(),
  });
  const outcome = await revoked.run(CALL, neverRuns);
  assert.ok(outcome.status !== "executed" && outcome.reason === "no_decision");
  const approvals = approvalsOf(scene);
  const first = approvals.run(CALL, () => "ran");
  await scene.decideNext("approve");
  assert.equal((await first).status, "executed");
  // The same key with other arguments is another call.
  const other = await approvals.run({ ...CALL, arguments: { env: "dev", replicas: 3 } }, neverRuns);
  assert.ok(other.status !== "executed" && other.reason === "no_decision");
  assert.match((other.error as Error).message, /idempotency_conflict.*new key/);
});

test("[ours.sdk.gate.arguments] a call that can never be submitted is the program's mistake, and throws", async () => {
  const approvals = new Countersign({
    url: "http://localhost:1",
    apiKey: "t",
    store: new MemoryStore(),
  });
  const cases: [object, RegExp][] = [
    [
      { arguments: { at: new Date(0) } },
      /arguments.at is a Date, not a plain object; submit its toISOString/,
    ],
    [{ arguments: { n: Number.NaN } }, /arguments.n must be a finite number/],
    [{ arguments: { list: [undefined] } }, /arguments.list\[0\] is of type undefined/],
    [{ arguments: [1] }, /arguments must be an object/],
    [{ arguments: { s: "\ud800" } }, /surrogate/],
    [{ idempotencyKey: "" }, /idempotencyKey must be/],
    [{ idempotencyKey: "caf\u00e9" }, /idempotencyKey must be/],
    [{ tool: "" }, /tool must be/],
    [{ timeout: "soon" }, /timeout must be/],
  ];
  for (const [fields, message] of cases) {
    const wrong = approvals.run({ ...CALL, ...fields }, neverRuns);
    await assert.rejects(wrong, { code: "invalid_call", message });
  }
});
