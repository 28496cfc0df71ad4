// Tier: slow
// Needs: frameworks
// Process: own
/**
 * The official TypeScript client and the MCP Inspector in front of the gateway, on both transports,
 * with the official servers.
 */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { type AgentScene, startAgentScene } from "@countersign/testing/agent-scene";
import { fileOwner, temporaryFolder } from "@countersign/testing/child";
import { spawnProgram } from "@countersign/testing/countersign";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { call, openSession, PATIENT, statusIs } from "./support/gateway-scene.ts";
import {
  approveReads,
  INSPECTOR,
  type OfficialClient,
  prepareGateway,
  type ServerSettings,
  tryEveryDecision,
} from "./support/official-clients.ts";

const owner = fileOwner();
let scene: AgentScene;

before(async () => {
  scene = await startAgentScene(owner);
  await approveReads(scene);
});

function transportTo(server: ServerSettings): Transport {
  if (server.type === "stdio") {
    const { command, args, env } = server;
    return new StdioClientTransport({ command, args: [...args], env, stderr: "ignore" });
  }
  const requestInit = { headers: server.headers };
  return new StreamableHTTPClientTransport(new URL(server.url), { requestInit }) as Transport;
}

async function inSession<T>(server: ServerSettings, use: (client: Client) => Promise<T>) {
  const client = await openSession(owner, transportTo(server));
  const result = await use(client);
  await client.close();
  return result;
}

const typescript: OfficialClient = {
  listTools: (server) => inSession(server, (client) => client.listTools()),
  callTool: (server, tool, args) => {
    return inSession(server, async (client) => {
      // With the definitions, the client validates structured content.
      await client.listTools();
      return call(client, tool, args);
    });
  },
};

/** @returns the JSON that the command prints to stdout */
async function inspect<T>(server: ServerSettings, args: readonly string[]): Promise<T> {
  const folder = temporaryFolder(owner);
  const config = join(folder, "mcp.json");
  writeFileSync(config, JSON.stringify({ mcpServers: { gated: server } }));
  const all = ["--cli", "--config", config, "--server", "gated", ...args];
  const env = { HOME: folder };
  const outcome = await spawnProgram(owner, INSPECTOR, all, { env }).ends();
  assert.ok(outcome.stdout !== "", `exit code ${outcome.code}: ${outcome.stderr}`);
  return JSON.parse(outcome.stdout) as T;
}

const inspector: OfficialClient = {
  listTools: (server) => inspect(server, ["--method", "tools/list"]),
  callTool: (server, tool, args) => {
    const pairs = Object.entries(args).map(([key, value]) => {
      return `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`;
    });
    const options = ["--method", "tools/call", "--tool-name", tool];
    return inspect(server, [...options, "--tool-arg", ...pairs]);
  },
};

const CLIENTS = { "the TypeScript SDK": typescript, "the MCP Inspector": inspector };

for (const transport of ["stdio", "streamable-http"] as const) {
  for (const [name, client] of Object.entries(CLIENTS)) {
    test(`[ours.mcp.clients] ${name} lists and calls tools of three servers over ${transport}`, async (t) => {
      const place = await prepareGateway(t, scene, transport);
      await tryEveryDecision(scene, place, client);
    });
  }

  test(`[ours.mcp.clients] progress of a long call and a cancellation arrive over ${transport}`, async (t) => {
    const { server } = await prepareGateway(t, scene, transport);
    const client = await openSession(t, transportTo(server));
    const seen: number[] = [];
    const abort = new AbortController();
    const options = {
      ...PATIENT,
      signal: abort.signal,
      onprogress: ({ progress }: { progress: number }) => void seen.push(progress),
    };
    const long = {
      name: "every__trigger-long-running-operation",
      arguments: { duration: 0.2, steps: 2 },
    };
    const running = client.callTool(long, undefined, options);
    await scene.decideNext("approve");
    assert.match(JSON.stringify((await running).content), /completed/);
    // Smaller numbers are those of the gateway while the call waits.
    assert.ok(seen.includes(1), seen.join());
    const cancelled = client.callTool(long, undefined, options);
    const rejection = assert.rejects(cancelled);
    const id = await scene.nextPending();
    abort.abort("enough");
    await rejection;
    await statusIs(scene, id, "cancelled");
  });
}
