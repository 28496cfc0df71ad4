/**
 * Suspending a call and resuming it later, perhaps in another process.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, Gate, JsonNumber, MemoryStore, type Pending } from "@countersign/sdk";
import { startAgentScene } from "@countersign/testing/agent-scene";

const ARGUMENTS = { env: "prod", amount: 9007199254740993n };

async function suspend(t: Parameters<typeof startAgentScene>[0]) {
  const scene = await startAgentScene(t);
  const store = new MemoryStore();
  const newGate = () => new Gate(new Client(scene.url, scene.token), { store, mode: "async" });
  const call = {
    key: "k",
    tool: "deploy",
    arguments: ARGUMENTS,
    reasoning: "r",
    context: { a: 1 },
  };
  const outcome = await newGate().guard(call, () => assert.fail("it ran"));
  assert.ok(!outcome.ran && outcome.verdict.kind === "pending");
  assert.match(outcome.reason, /waits for approval/);
  // A program stores the Pending as JSON, and another process reads it.
  const pending = JSON.parse(JSON.stringify(outcome.verdict)) as Pending;
  return { scene, newGate, pending, call };
}

test("[ours.sdk.gate.suspend] a suspended call is resumed from JSON, and runs once with what was approved", async (t) => {
  const { scene, newGate, pending } = await suspend(t);
  const early = await newGate().resume(pending, () => assert.fail("it ran"));
  assert.ok(!early.ran && early.verdict.kind === "pending");
  assert.deepEqual(JSON.parse(JSON.stringify(early.verdict)), pending);
  await scene.server.decide(scene.reviewer, pending.requestId, "approve");
  const resumed = await newGate().resume(pending, (approved) => approved);
  assert.ok(resumed.ran);
  assert.deepEqual(resumed.value, { env: "prod", amount: new JsonNumber("9007199254740993") });
  assert.ok(Object.isFrozen(resumed.value));
  const again = await newGate().resume(pending, () => assert.fail("it ran"));
  assert.ok(!again.ran && again.verdict.kind === "already_used");
});

test("[ours.sdk.gate.suspend] a call repeated with its key does not run twice", async (t) => {
  const { scene, newGate, pending, call } = await suspend(t);
  await scene.server.decide(scene.reviewer, pending.requestId, "approve");
  assert.ok((await newGate().guard(call, () => "ran")).ran);
  const resumed = await newGate().resume(pending, () => assert.fail("it ran"));
  assert.ok(!resumed.ran && resumed.verdict.kind === "already_used");
});

test("[ours.sdk.gate.suspend] resuming a denied call returns denied", async (t) => {
  const { scene, newGate, pending } = await suspend(t);
  await scene.server.decide(scene.reviewer, pending.requestId, "deny", { note: "no" });
  const resumed = await newGate().resume(pending, () => assert.fail("it ran"));
  assert.ok(!resumed.ran);
  assert.equal(resumed.reason, "This call was denied: no");
});

test("[ours.sdk.gate.suspend] a Pending that was changed while it was suspended does not run", async (t) => {
  const { scene, newGate, pending } = await suspend(t);
  await scene.server.decide(scene.reviewer, pending.requestId, "approve");
  const changes: Partial<Pending>[] = [
    { argumentsJson: pending.argumentsJson.replace("prod", "evil") },
    { tool: "other" },
    { createdAt: pending.createdAt + 1 },
    { requestId: "0197f3c5-3e7c-7a7e-8d3b-1d2a3c4b5e6f" },
  ];
  for (const change of changes) {
    const forged = { ...pending, ...change };
    const resumed = await newGate().resume(forged, () => assert.fail("it ran"));
    assert.ok(!resumed.ran && resumed.verdict.kind === "no_decision", JSON.stringify(change));
  }
  const damaged: object[] = [
    { url: "https://elsewhere.example" },
    { argumentsJson: "{" },
    { key: 1 },
  ];
  for (const change of damaged) {
    const forged = { ...pending, ...change } as Pending;
    const wrong = newGate().resume(forged, () => assert.fail("it ran"));
    await assert.rejects(wrong, { code: "invalid_call" }, JSON.stringify(change));
  }
});

test("[ours.sdk.gate.suspend] after a failure while resuming, the call can be resumed again", async (t) => {
  const { scene, newGate, pending } = await suspend(t);
  const failing = new Client(scene.url, scene.token, {
    fetch: () => Promise.reject(new TypeError("no network")),
    withinMs: 1,
  });
  const gate = new Gate(failing, { store: new MemoryStore(), mode: "async" });
  const failed = await gate.resume(pending, () => assert.fail("it ran"));
  assert.ok(!failed.ran && failed.verdict.kind === "no_decision");
  await scene.server.decide(scene.reviewer, pending.requestId, "approve");
  assert.ok((await newGate().resume(pending, () => "ran")).ran);
});

test("[ours.sdk.gate.suspend] a suspended call can be cancelled", async (t) => {
  const { scene, newGate, pending } = await suspend(t);
  await newGate().cancel(pending);
  assert.equal((await scene.server.read(scene.token, pending.requestId)).status, "cancelled");
  const resumed = await newGate().resume(pending, () => assert.fail("it ran"));
  assert.ok(!resumed.ran && resumed.verdict.kind === "cancelled");
});

test("[ours.sdk.gate.suspend] submit reports whether a call waits, and does not use the approval", async (t) => {
  const scene = await startAgentScene(t);
  const gate = new Gate(new Client(scene.url, scene.token), { store: new MemoryStore() });
  const call = { key: "k", tool: "deploy", arguments: ARGUMENTS };
  const pending = await gate.submit(call);
  assert.equal(pending?.kind, "pending");
  await scene.decideNext("approve");
  assert.equal(await gate.submit(call), undefined);
  const outcome = await gate.guard(call, () => "ran");
  assert.ok(outcome.ran);
  assert.equal(outcome.verdict.requestId, pending?.requestId);
});
