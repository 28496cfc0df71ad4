/**
 * The adapter for MCP servers, in front of the real SDK's client and server.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ApprovalClient } from "@countersign/sdk";
import { gateServer, gateToolCalls } from "@countersign/sdk/mcp";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { CallToolRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { frameworkRules } from "./support/framework-rules.ts";
import { approvalsOf, neverPays, sharedScene } from "./support/framework-scene.ts";
import {
  connect,
  framework,
  INFO,
  inputSchema,
  textOf,
  textResult,
} from "./support/frameworks/mcp.ts";

frameworkRules(framework);

const CALL = { name: "pay", arguments: { to: "A-1", cents: 5 } };

test("[ours.sdk.frameworks.selection] mcp: a tool keeps its gate under a new name", async () => {
  const scene = await sharedScene();
  const server = new McpServer(INFO);
  gateServer(server, { approvals: approvalsOf(scene), only: ["pay"] });
  const made = server.registerTool("pay", { inputSchema }, async () => textResult("paid"));
  made.update({ name: "pay_v2" });
  const client = await connect(server);
  const called = client.callTool({ ...CALL, name: "pay_v2" });
  await scene.decideNext("deny");
  assert.equal(textOf(await called), "This call was denied.");
});

test("[ours.sdk.frameworks.selection] mcp: `only` may name a tool by its later name", async () => {
  const scene = await sharedScene();
  const server = new McpServer(INFO);
  gateServer(server, { approvals: approvalsOf(scene), only: ["pay_v2"] });
  const made = server.registerTool("pay", { inputSchema }, async () => textResult("paid"));
  server.registerTool("look", { inputSchema }, async () => textResult("seen"));
  made.update({ name: "pay_v2" });
  const client = await connect(server);
  assert.equal(textOf(await client.callTool({ ...CALL, name: "look" })), "seen");
  const called = client.callTool({ ...CALL, name: "pay_v2" });
  await scene.decideNext("approve");
  assert.equal(textOf(await called), "paid");
});

test("[ours.sdk.frameworks.selection] mcp: a tool without a gate does not run while `only` names an unknown tool", async () => {
  const server = new McpServer(INFO);
  gateServer(server, { approvals: approvalsOf(await sharedScene()), only: ["pya"] });
  server.registerTool("pay", { inputSchema }, async () => assert.fail("it ran"));
  const client = await connect(server);
  assert.match(textOf(await client.callTool(CALL)), /only or except names unknown tools: "pya"/);
});

test("[ours.sdk.frameworks.selection] mcp: gateServer rejects an `except` that is not a list", async () => {
  const approvals = approvalsOf(await sharedScene());
  const wrong = { approvals, except: "look" } as never;
  assert.throws(() => gateServer(new McpServer(INFO), wrong), { code: "invalid_option" });
});

test("[ours.sdk.frameworks.held] mcp: a client that asks for progress is notified that the call waits", async () => {
  const scene = await sharedScene();
  const server = new McpServer(INFO);
  gateServer(server, { approvals: approvalsOf(scene), progressInterval: "1ms" });
  const made = server.registerTool("pay", { inputSchema }, async () => textResult("paid"));
  // A later update is gated too, under the new name.
  made.update({ callback: async () => textResult("paid anew") });
  const client = await connect(server);
  const progressMessage = Promise.withResolvers<string | undefined>();
  const onprogress = ({ message }: { message?: string | undefined }) =>
    progressMessage.resolve(message);
  const ended = client.callTool(CALL, undefined, { onprogress });
  assert.equal(await progressMessage.promise, "waiting for approval");
  await scene.decideNext("approve");
  assert.equal(textOf(await ended), "paid anew");
  made.update({ name: "pay_out" });
  const renamed = client.callTool({ ...CALL, name: "pay_out" });
  const id = await scene.nextPending();
  assert.equal((await scene.server.read(scene.token, id)).tool, "pay_out");
  await scene.server.decide(scene.reviewer, id, "deny");
  const refused = await renamed;
  assert.deepEqual([textOf(refused), refused.isError], ["This call was denied.", true]);
});

test("[ours.sdk.frameworks.held] mcp: a tool without arguments waits for approval, and each request is a separate call", async () => {
  const scene = await sharedScene();
  const server = new McpServer(INFO);
  gateServer(server, { approvals: approvalsOf(scene) });
  let runs = 0;
  server.registerTool("sweep", { description: "sweeps" }, () => textResult(`swept ${++runs}`));
  const client = await connect(server);
  for (const expected of ["swept 1", "swept 2"]) {
    const ended = client.callTool({ name: "sweep" });
    const id = await scene.nextPending();
    assert.deepEqual((await scene.server.read(scene.token, id)).arguments, {});
    await scene.server.decide(scene.reviewer, id, "approve");
    assert.equal(textOf(await ended), expected);
  }
});

test("[ours.sdk.frameworks.abort] mcp: a disconnected client cancels its request", async () => {
  const scene = await sharedScene();
  const server = new McpServer(INFO);
  gateServer(server, { approvals: approvalsOf(scene) });
  server.registerTool("pay", { inputSchema }, async ({ to }) => assert.fail(`paid ${to}`));
  const client = await connect(server);
  const settled = Promise.allSettled([client.callTool(CALL)]);
  const id = await scene.nextPending();
  await client.close();
  await settled;
  const { status } = await new ApprovalClient({ url: scene.url, apiKey: scene.token }).read(id, {
    wait: "25s",
  });
  assert.equal(status, "cancelled");
});

test("[ours.sdk.frameworks.held] mcp: the handler of a low-level server receives the approved arguments", async () => {
  const scene = await sharedScene();
  const server = new Server(INFO, { capabilities: { tools: {} } });
  const handler = gateToolCalls(
    async ({ params }) => textResult(JSON.stringify(params.arguments)),
    {
      approvals: approvalsOf(scene),
    },
  );
  server.setRequestHandler(CallToolRequestSchema, handler);
  const client = await connect(server);
  const ended = client.callTool(CALL);
  await scene.decideNext("approve");
  assert.equal(textOf(await ended), '{"to":"A-1","cents":5}');
});

test("[ours.sdk.frameworks.ungateable] mcp: a server with existing tools is rejected, because they would not be gated", async () => {
  const scene = await sharedScene();
  const server = new McpServer(INFO);
  server.registerTool("pay", { inputSchema }, async (input) => textResult(neverPays.call(input)));
  assert.throws(() => gateServer(server, { approvals: approvalsOf(scene) }), {
    code: "invalid_option",
  });
});

test("[ours.sdk.frameworks.ungateable] mcp: a server with tools is rejected also when its private fields have other names", async () => {
  const scene = await sharedScene();
  const server = new McpServer(INFO);
  server.registerTool("pay", { inputSchema }, async (input) => textResult(neverPays.call(input)));
  const fields = server as object as Record<string, unknown>;
  fields._tools = fields._registeredTools;
  delete fields._registeredTools;
  const message = /already has tools. Call gateServer before/;
  const refusal = { code: "invalid_option", message };
  assert.throws(() => gateServer(server, { approvals: approvalsOf(scene) }), refusal);
});

test("[ours.sdk.frameworks.ungateable] mcp: an object other than an McpServer of version 1 is rejected by name", async () => {
  const scene = await sharedScene();
  // Version 2 has no method `tool`.
  class NextServer {
    readonly server = new Server(INFO, { capabilities: { tools: {} } });
    registerTool(): void {}
  }
  for (const server of [new NextServer(), {}]) {
    assert.throws(() => gateServer(server as McpServer, { approvals: approvalsOf(scene) }), {
      code: "invalid_option",
      message: /@modelcontextprotocol\/sdk 1.32 or later, not version 2/,
    });
  }
});
