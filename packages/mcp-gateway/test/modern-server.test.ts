/**
 * Servers that speak only MCP 2026-07-28, in front of clients of both kinds.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { before, test } from "node:test";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import { ownEnvironment } from "@countersign/testing/countersign";
import { type CallToolResult, Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import {
  BIN,
  call,
  connectGateway,
  EVERYTHING,
  spawnGateway,
  textOf,
  writeConfig,
} from "./support/gateway-scene.ts";

const MODERN_ONLY = {
  command: process.execPath,
  args: [join(import.meta.dirname, "support/modern-only-server.ts")],
};

const owner = fileOwner();
let scene: AgentScene;

before(async () => {
  scene = await startAgentScene(owner);
});

test("[ours.mcp.versions] a 2025-11-25 client calls a tool of a server that speaks only 2026-07-28", async (t) => {
  const changed = Promise.withResolvers<void>();
  const { client } = await connectGateway(
    t,
    scene,
    { modern: MODERN_ONLY },
    {
      prepare(one) {
        one.setNotificationHandler(ToolListChangedNotificationSchema, () => changed.resolve());
      },
    },
  );
  assert.equal(client.getServerVersion()?.name, "modern-only");
  assert.equal(client.getInstructions(), "Use echo.");
  const echoing = call(client, "echo", { text: "hello" });
  await scene.decideNext("approve");
  assert.equal(textOf(await echoing), '{"text":"hello"}');
  const growing = call(client, "grow");
  await scene.decideNext("approve");
  await growing;
  await changed.promise;
  const names = (await client.listTools()).tools.map(({ name }) => name);
  assert.ok(names.includes("new"), names.join());
});

test("[ours.mcp.versions] a 2026-07-28 client uses servers with different versions", async (t) => {
  const path = writeConfig(temporaryFolder(t), scene, { modern: MODERN_ONLY, every: EVERYTHING });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [BIN, "--config", path],
    env: { ...ownEnvironment(), COUNTERSIGN_API_KEY: scene.token } as Record<string, string>,
    stderr: "ignore",
  });
  const versionNegotiation = { mode: { pin: "2026-07-28" } };
  const client = new Client({ name: "modern", version: "2" }, { versionNegotiation });
  t.after(() => client.close());
  await client.connect(transport);
  for (const [name, args] of [
    ["modern__echo", { text: "hello" }],
    ["every__echo", { message: "hello" }],
  ] as const) {
    const calling = client.callTool({ name, arguments: args }, { timeout: 60_000 });
    await scene.decideNext("approve");
    assert.match(JSON.stringify(((await calling) as CallToolResult).content), /hello/);
  }
});

test("[ours.mcp.check] --check lists the tools of a server that speaks only 2026-07-28", async (t) => {
  const config = writeConfig(temporaryFolder(t), scene, { modern: MODERN_ONLY });
  const env = { COUNTERSIGN_API_KEY: scene.token };
  const args = ["--config", config, "--check", "--json"];
  const { code, stdout } = await spawnGateway(t, args, { env }).ends();
  assert.equal(code, 0, stdout);
  assert.match(stdout, /"protocol_version":"2026-07-28"/);
  assert.match(stdout, /"name":"echo"/);
});
