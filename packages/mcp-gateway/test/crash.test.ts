// Tier: slow
/**
 * Gateways that are killed, at moments that matter: no tool runs without an approval of its own,
 * and none runs twice, whatever the next gateway is asked.
 */

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import { eventually } from "@countersign/testing/eventually";
import { call, connectGateway, Fickle, shownRequest, textOf } from "./support/gateway-scene.ts";

const owner = fileOwner();
let scene: AgentScene;
let fickle: Fickle;

before(async () => {
  scene = await startAgentScene(owner);
  fickle = new Fickle(temporaryFolder(owner));
});

/** A gateway with a call under way; `lost` resolves when its client knows that it is gone. */
async function callUnderWay(tool = "pay") {
  const gateway = await connectGateway(owner, scene, { fickle: fickle.config });
  const lost = call(gateway.client, tool, { to: "A-1" }).then(
    () => "answered",
    () => "lost",
  );
  const id = await scene.nextPending();
  return { id, lost, kill: () => process.kill(gateway.pid, "SIGKILL") };
}

test("[ours.mcp.crash] a call approved after its gateway was killed does not run", async () => {
  const { id, lost, kill } = await callUnderWay();
  kill();
  assert.equal(await lost, "lost");
  await scene.server.decide(scene.reviewer, id, "approve");
  assert.match(await shownRequest(scene, id), /"status":"approved"/);
  // The next gateway, the same call: it is another one, with a decision of its own.
  const { client } = await connectGateway(owner, scene, { fickle: fickle.config });
  const again = call(client, "pay", { to: "A-1" });
  await scene.decideNext("deny");
  assert.equal((await again).isError, true);
  assert.deepEqual(fickle.calls(), []);
});

test("[ours.mcp.crash] the next gateway does not repeat a call that ran when the previous one was killed", async () => {
  const { id, lost, kill } = await callUnderWay("wait_for_ever");
  await scene.server.decide(scene.reviewer, id, "approve");
  await eventually("the call runs", () => fickle.calls()[0]);
  kill();
  assert.equal(await lost, "lost");
  const { client } = await connectGateway(owner, scene, { fickle: fickle.config });
  const again = call(client, "pay", { to: "A-1" });
  await scene.decideNext("deny");
  assert.match(textOf(await again), /denied/);
  assert.equal(fickle.calls().length, 1);
});

test("[ours.mcp.crash] a gateway killed while it receives an approval runs its call at most once", async () => {
  for (const turns of [0, 5, 20]) {
    const before = fickle.calls().length;
    const { id, lost, kill } = await callUnderWay();
    const decided = scene.server.decide(scene.reviewer, id, "approve");
    for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
    kill();
    await decided;
    await lost;
    assert.ok(fickle.calls().length - before <= 1);
  }
  const { client } = await connectGateway(owner, scene, { fickle: fickle.config });
  const calls = fickle.calls().length;
  const refused = call(client, "pay", { to: "A-1" });
  await scene.decideNext("deny");
  assert.equal((await refused).isError, true);
  assert.equal(fickle.calls().length, calls);
});
