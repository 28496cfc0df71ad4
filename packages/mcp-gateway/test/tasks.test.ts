/**
 * Calls as tasks (MCP 2025-11-25): the client receives a task at once, and its result after the
 * decision.
 */

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import { eventually } from "@countersign/testing/eventually";
import {
  CallToolResultSchema,
  CreateTaskResultSchema,
  type Task,
} from "@modelcontextprotocol/sdk/types.js";
import {
  type ConnectedGateway,
  call,
  connectGateway,
  EVERYTHING,
  Fickle,
  statusIs,
  textOf,
} from "./support/gateway-scene.ts";

const owner = fileOwner();
let scene: AgentScene;
let fickle: Fickle;
let gateway: ConnectedGateway;

before(async () => {
  scene = await startAgentScene(owner);
  fickle = new Fickle(temporaryFolder(owner));
  gateway = await connectGateway(owner, scene, { fickle: fickle.config });
});

async function startTask(name: string): Promise<Task> {
  const params = { name, arguments: { to: "A-1" }, task: { ttl: 60_000 } };
  const request = { method: "tools/call" as const, params };
  const { task } = await gateway.client.request(request, CreateTaskResultSchema);
  return task;
}

test("[ours.mcp.tasks] a task is returned before the decision, and its result after the approval", async () => {
  const { tasks } = gateway.client.experimental;
  assert.deepEqual(gateway.client.getServerCapabilities()?.tasks, {
    cancel: {},
    requests: { tools: { call: {} } },
  });
  const seen = fickle.calls().length;
  const task = await startTask("pay");
  assert.equal(task.status, "working");
  assert.equal(task.statusMessage, "pay waits for approval.");
  const id = await scene.nextPending();
  assert.equal((await tasks.getTask(task.taskId)).status, "working");
  assert.equal(fickle.calls().length, seen);
  await scene.server.decide(scene.reviewer, id, "approve");
  const result = await tasks.getTaskResult(task.taskId, CallToolResultSchema);
  assert.equal(textOf(result), "paid");
  const related = result._meta?.["io.modelcontextprotocol/related-task"];
  assert.deepEqual(related, { taskId: task.taskId });
  assert.equal((await tasks.getTask(task.taskId)).status, "completed");
  assert.equal(fickle.calls().length, seen + 1);
  assert.doesNotMatch(fickle.calls().at(-1) ?? "", /"task"/);
});

test("[ours.mcp.tasks] a denied task fails with the note, and the server does not receive the call", async () => {
  const { tasks } = gateway.client.experimental;
  const seen = fickle.calls().length;
  const task = await startTask("pay");
  await scene.decideNext("deny", { note: "Ask Ana first." });
  const result = await tasks.getTaskResult(task.taskId, CallToolResultSchema);
  assert.equal(result.isError, true);
  const { status, statusMessage } = await tasks.getTask(task.taskId);
  assert.deepEqual([status, statusMessage], ["failed", "This call was denied: Ask Ana first."]);
  assert.equal(fickle.calls().length, seen);
});

test("[ours.mcp.tasks] tasks/cancel cancels the request at the provider, and a second cancel is an error", async () => {
  const { tasks } = gateway.client.experimental;
  const seen = fickle.calls().length;
  const task = await startTask("pay");
  const id = await scene.nextPending();
  assert.equal((await tasks.cancelTask(task.taskId)).status, "cancelled");
  await statusIs(scene, id, "cancelled");
  await assert.rejects(tasks.cancelTask(task.taskId), /already finished/);
  await assert.rejects(tasks.getTask("unknown"), /no task with this id/);
  assert.equal(fickle.calls().length, seen);
});

test("[ours.mcp.tasks] the status text of a task says that the call was approved and runs", async () => {
  const { tasks } = gateway.client.experimental;
  const task = await startTask("wait_for_ever");
  await scene.decideNext("approve");
  await eventually("the call runs", async () => {
    const { statusMessage } = await tasks.getTask(task.taskId);
    return statusMessage === "wait_for_ever was approved and runs." || undefined;
  });
  await tasks.cancelTask(task.taskId);
  await eventually("the server receives the cancellation", () => {
    return fickle.lines().find((line) => line.includes("notifications/cancelled"));
  });
});

test("[ours.mcp.tasks] clients without tasks can call a tool that its server runs only as a task", async (t) => {
  const { client } = await connectGateway(t, scene, { every: EVERYTHING });
  const { tools } = await client.listTools();
  const research = tools.find(({ name }) => name === "simulate-research-query");
  assert.equal(research?.execution?.taskSupport, "optional");
  const calling = call(client, "simulate-research-query", { topic: "approvals" });
  await scene.decideNext("approve");
  assert.match(textOf(await calling), /approvals/);
});
