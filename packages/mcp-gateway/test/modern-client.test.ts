/**
 * Clients with MCP 2026-07-28 on stdio, in front of servers with earlier versions: no handshake,
 * and tasks that the gateway creates by itself.
 */

import assert from "node:assert/strict";
import { before, type TestContext, test } from "node:test";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";
import { fileOwner, type Owner, temporaryFolder } from "@countersign/testing/child";
import { ownEnvironment } from "@countersign/testing/countersign";
import { eventually } from "@countersign/testing/eventually";
import { type CallToolResult, Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import * as z from "zod";
import {
  BIN,
  EVERYTHING,
  Fickle,
  shownRequest,
  statusIs,
  writeConfig,
} from "./support/gateway-scene.ts";

const VERSION = "2026-07-28";
const PATIENT = { timeout: 60_000 };
const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

const owner = fileOwner();
let scene: AgentScene;
let fickle: Fickle;
let client: Client;

before(async () => {
  scene = await startAgentScene(owner);
  fickle = new Fickle(temporaryFolder(owner));
  client = await connect(owner, { fickle: fickle.config });
});

async function connect(to: Owner | TestContext, servers: object, capabilities = {}) {
  const path = writeConfig(temporaryFolder(to), scene, servers);
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [BIN, "--config", path],
    env: { ...ownEnvironment(), COUNTERSIGN_API_KEY: scene.token } as Record<string, string>,
    stderr: "ignore",
  });
  const info = { name: "modern-client", version: "2" };
  const versionNegotiation = { mode: { pin: VERSION } };
  const connected = new Client(info, { capabilities, versionNegotiation });
  to.after(() => connected.close());
  await connected.connect(transport);
  return connected;
}

function textOf({ content }: CallToolResult): string {
  return content.map((item) => (item.type === "text" ? item.text : item.type)).join("\n");
}

test("[ours.mcp.versions] a 2026-07-28 client lists and calls the tools of a server with 2025-06-18", async () => {
  assert.equal(client.getNegotiatedProtocolVersion(), VERSION);
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map(({ name }) => name),
    ["pay", "wait_for_ever"],
  );
  const paying = client.callTool({ name: "pay", arguments: { to: "A-1" } }, PATIENT);
  const id = await scene.nextPending();
  const { context } = JSON.parse(await shownRequest(scene, id)) as {
    context: Record<string, unknown>;
  };
  assert.deepEqual(context["client"], { name: "modern-client", version: "2" });
  assert.equal(context["params"], undefined);
  await scene.server.decide(scene.reviewer, id, "approve");
  assert.equal(textOf((await paying) as CallToolResult), "paid");
  assert.doesNotMatch(fickle.calls().at(-1) ?? "", /io\.modelcontextprotocol/);
});

test("[ours.mcp.versions] a 2026-07-28 client receives denials, and its cancellation reaches the provider", async () => {
  const seen = fickle.calls().length;
  const refused = client.callTool({ name: "pay", arguments: {} }, PATIENT);
  await scene.decideNext("deny", { note: "Ask Ana first." });
  assert.equal(textOf((await refused) as CallToolResult), "This call was denied: Ask Ana first.");
  const abort = new AbortController();
  const options = { signal: abort.signal, ...PATIENT };
  const waiting = assert.rejects(client.callTool({ name: "pay", arguments: {} }, options));
  const id = await scene.nextPending();
  abort.abort("enough");
  await waiting;
  await statusIs(scene, id, "cancelled");
  assert.equal(fickle.calls().length, seen);
});

test("[ours.mcp.versions] a subscription delivers the list changes that the client selected", async () => {
  const changed = Promise.withResolvers<void>();
  client.setNotificationHandler("notifications/tools/list_changed", () => changed.resolve());
  const subscription = await client.listen({ toolsListChanged: true });
  const params = { message: "Pays another account." };
  await client.notification({ method: "notifications/test/change", params } as never);
  await changed.promise;
  await subscription.close();
});

test("[ours.mcp.versions] several servers appear as one server to a 2026-07-28 client", async (t) => {
  const own = new Fickle(temporaryFolder(t));
  const joined = await connect(t, { every: EVERYTHING, fickle: own.config });
  const names = (await joined.listTools()).tools.map(({ name }) => name);
  assert.ok(names.includes("every__echo") && names.includes("fickle__pay"), names.join());
  const { resources } = await joined.listResources();
  const demo = resources.find(({ uri }) => uri.startsWith("demo:"));
  assert.equal((await joined.readResource({ uri: demo?.uri ?? "" })).contents.length, 1);
});

test("[ours.mcp.versions] an unknown version, and tasks without the tasks extension, are errors", async () => {
  const unknown = { "io.modelcontextprotocol/protocolVersion": "2099-01-01" };
  const listing = client.request({ method: "tools/list", params: { _meta: unknown } } as never);
  await assert.rejects(listing, (error: { code?: number }) => error.code === -32022);
  const method = "tasks/get";
  const asking = client.request({ method, params: { taskId: "x" } } as never, z.looseObject({}));
  await assert.rejects(asking, (error: { code?: number }) => error.code === -32021);
});

const Task = z.looseObject({
  taskId: z.string(),
  status: z.string(),
  statusMessage: z.string(),
  resultType: z.string().optional(),
});

test("[ours.mcp.tasks] a client with the tasks extension receives a task, and polls its result", async (t) => {
  const own = new Fickle(temporaryFolder(t));
  const polling = await connect(t, { fickle: own.config }, TASKS);
  const ask = (method: string, params: object) => {
    return polling.request({ method, params } as never, Task) as Promise<z.infer<typeof Task>>;
  };
  const state = (taskId: string) => ask("tasks/get", { taskId });
  const task = await start(polling);
  assert.equal(task.statusMessage, "pay waits for approval.");
  const id = await scene.nextPending();
  assert.equal((await state(task.taskId)).status, "working");
  assert.deepEqual(own.calls(), []);
  await scene.server.decide(scene.reviewer, id, "approve");
  const done = await eventually("the end of the task", async () => {
    const polled = await state(task.taskId);
    return polled.status === "working" ? undefined : polled;
  });
  assert.equal(done.status, "completed");
  assert.match(JSON.stringify(done["result"]), /"text":"paid"/);
  const second = await start(polling);
  const withdrawn = await scene.nextPending();
  const cancelling = { method: "tasks/cancel", params: { taskId: second.taskId } };
  await polling.request(cancelling as never, z.looseObject({}));
  await statusIs(scene, withdrawn, "cancelled");
  assert.equal((await state(second.taskId)).status, "cancelled");
  assert.equal(own.calls().length, 1);
});

/** The client does not implement the extension, so the test reads the task from the message. */
async function start(polling: Client): Promise<z.infer<typeof Task>> {
  const received = Promise.withResolvers<z.infer<typeof Task>>();
  const transport = polling.transport;
  assert.ok(transport);
  const forward = transport.onmessage;
  transport.onmessage = (message, extra) => {
    const { result } = message as { result?: { resultType?: string } };
    if (result?.resultType === "task") {
      transport.onmessage = forward;
      received.resolve(Task.parse(result));
    }
    forward?.(message, extra);
  };
  polling.callTool({ name: "pay", arguments: {} }, PATIENT).catch(() => {});
  return received.promise;
}
