/**
 * Suspending a call and resuming it later, perhaps in another process.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ApprovalClient,
  Countersign,
  JsonNumber,
  MemoryStore,
  type Pending,
} from "@countersign/sdk";
import { startAgentScene } from "@countersign/testing/agent-scene";

const ARGUMENTS = { env: "prod", amount: 9007199254740993n };

async function suspend(t: Parameters<typeof startAgentScene>[0]) {
  const scene = await startAgentScene(t);
  const store = new MemoryStore();
  const newApprovals = () =>
    new Countersign({ url: scene.url, apiKey: scene.token, store, wait: false });
  const call = {
    idempotencyKey: "k",
    tool: "deploy",
    arguments: ARGUMENTS,
    reasoning: "r",
    context: { a: 1 },
  };
  const outcome = await newApprovals().run(call, () => assert.fail("it ran"));
  assert.ok(outcome.status === "pending");
  assert.match(outcome.messageForModel, /waits for approval/);
  // A program stores the Pending as JSON, and another process reads it.
  const pending = JSON.parse(JSON.stringify(outcome.pending)) as typeof outcome.pending;
  return { scene, newApprovals, pending, call };
}

test("[ours.sdk.gate.suspend] a suspended call is resumed from JSON, and runs once with what was approved", async (t) => {
  const { scene, newApprovals, pending } = await suspend(t);
  const early = await newApprovals().resume(pending, () => assert.fail("it ran"));
  assert.ok(early.status === "pending");
  assert.deepEqual(JSON.parse(JSON.stringify(early.pending)), pending);
  await scene.server.decide(scene.reviewer, pending.requestId, "approve");
  const resumed = await newApprovals().resume(pending, (approved) => approved);
  assert.ok(resumed.status === "executed");
  assert.deepEqual(resumed.value, { env: "prod", amount: new JsonNumber("9007199254740993") });
  const again = await newApprovals().resume(pending, () => assert.fail("it ran"));
  assert.ok(again.status !== "executed" && again.reason === "already_used");
});

test("[ours.sdk.gate.suspend] a call asked for again with its key is the same, and does not run twice", async (t) => {
  const { scene, newApprovals, pending, call } = await suspend(t);
  await scene.server.decide(scene.reviewer, pending.requestId, "approve");
  assert.equal((await newApprovals().run(call, () => "ran")).status, "executed");
  const resumed = await newApprovals().resume(pending, () => assert.fail("it ran"));
  assert.ok(resumed.status !== "executed" && resumed.reason === "already_used");
});

test("[ours.sdk.gate.suspend] resuming a denied call returns denied", async (t) => {
  const { scene, newApprovals, pending } = await suspend(t);
  await scene.server.decide(scene.reviewer, pending.requestId, "deny", { note: "no" });
  const resumed = await newApprovals().resume(pending, () => assert.fail("it ran"));
  assert.ok(resumed.status !== "executed");
  assert.equal(resumed.messageForModel, "This call was denied: no");
});

test("[ours.sdk.gate.suspend] a Pending that was changed while it was suspended does not run", async (t) => {
  const { scene, newApprovals, pending } = await suspend(t);
  await scene.server.decide(scene.reviewer, pending.requestId, "approve");
  const changes: Partial<Pending>[] = [
    { argumentsJson: pending.argumentsJson.replace("prod", "evil") },
    { tool: "other" },
    { createdAt: pending.createdAt + 1 },
    { requestId: "0197f3c5-3e7c-7a7e-8d3b-1d2a3c4b5e6f" },
  ];
  for (const change of changes) {
    const forged = { ...pending, ...change };
    const resumed = await newApprovals().resume(forged, () => assert.fail("it ran"));
    assert.ok(
      resumed.status !== "executed" && resumed.reason === "no_decision",
      JSON.stringify(change),
    );
  }
  const damaged: object[] = [
    { url: "https://elsewhere.example" },
    { argumentsJson: "{" },
    { idempotencyKey: 1 },
  ];
  for (const change of damaged) {
    const forged = { ...pending, ...change } as Pending;
    const wrong = newApprovals().resume(forged, () => assert.fail("it ran"));
    await assert.rejects(wrong, { code: "invalid_call" }, JSON.stringify(change));
  }
});

test("[ours.sdk.gate.suspend] a failure while resuming cancels nothing: it can be resumed again", async (t) => {
  const { scene, newApprovals, pending } = await suspend(t);
  const failing = new ApprovalClient({
    url: scene.url,
    apiKey: scene.token,
    fetch: () => Promise.reject(new TypeError("no network")),
    retryFor: "1ms",
  });
  const approvals = new Countersign({ provider: failing, store: new MemoryStore(), wait: false });
  const failed = await approvals.resume(pending, () => assert.fail("it ran"));
  assert.ok(failed.status !== "executed" && failed.reason === "no_decision");
  await scene.server.decide(scene.reviewer, pending.requestId, "approve");
  assert.equal((await newApprovals().resume(pending, () => "ran")).status, "executed");
});

test("[ours.sdk.gate.suspend] a suspended call can be cancelled", async (t) => {
  const { scene, newApprovals, pending } = await suspend(t);
  assert.equal(await newApprovals().cancel(pending), "cancelled");
  assert.equal((await scene.server.read(scene.token, pending.requestId)).status, "cancelled");
  const resumed = await newApprovals().resume(pending, () => assert.fail("it ran"));
  assert.ok(resumed.status !== "executed" && resumed.reason === "cancelled");
});

test("[ours.sdk.gate.suspend] submit reports whether a call waits, and does not use the approval", async (t) => {
  const scene = await startAgentScene(t);
  const approvals = new Countersign({
    url: scene.url,
    apiKey: scene.token,
    store: new MemoryStore(),
  });
  const call = { idempotencyKey: "k", tool: "deploy", arguments: ARGUMENTS };
  const first = await approvals.submit(call);
  assert.ok(first.status === "pending");
  await scene.decideNext("approve");
  assert.equal((await approvals.submit(call)).status, "approved");
  const outcome = await approvals.run(call, () => "ran");
  assert.ok(outcome.status === "executed");
  assert.equal(outcome.requestId, first.requestId);
});
