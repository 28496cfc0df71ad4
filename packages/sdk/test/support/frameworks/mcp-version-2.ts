/**
 * MCP servers of version 2 of the MCP SDK, for the shared rules.
 */

import assert from "node:assert/strict";
import { gateServer } from "@countersign/sdk/mcp";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import {
  createMcpHandler,
  InMemoryTransport,
  McpServer,
  Server,
} from "@modelcontextprotocol/server";
import { settingsOf, type Turn } from "../framework-description.ts";
import {
  frameworkOf,
  INFO,
  inputSchema,
  type McpVersion,
  SCHEMAS,
  type TestClient,
  type TextResult,
  toolsOf,
} from "../mcp-rules.ts";

const REVISION = "2026-07-28";

/** Makes a client use the newest protocol revision. */
export const PINNED = { versionNegotiation: { mode: { pin: REVISION } } } as const;

function clientOf(client: Client): TestClient {
  return {
    async call(call, options = {}) {
      return (await client.callTool({ ...call }, options)) as TextResult;
    },
    close: () => client.close(),
  };
}

/** Uses an older protocol revision, with one server for the connection. */
export async function connect(
  server: McpServer | Server,
  client = new Client(INFO),
): Promise<TestClient> {
  const [here, there] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(there), client.connect(here)]);
  return clientOf(client);
}

/** Uses the newest protocol revision, with one server for each HTTP request. */
export async function connectOverHttp(
  newServer: () => McpServer,
  client = new Client(INFO, PINNED),
): Promise<TestClient> {
  const handler = createMcpHandler(newServer);
  const url = new URL("http://payments.test/mcp");
  const fetch = (input: string | URL, init?: RequestInit) =>
    handler.fetch(new Request(input, init));
  await client.connect(new StreamableHTTPClientTransport(url, { fetch }));
  assert.equal(client.getNegotiatedProtocolVersion(), REVISION);
  return clientOf(client);
}

function serverOf(turn: Turn): McpServer {
  const server = new McpServer(INFO);
  gateServer(server, {
    ...settingsOf(turn),
    callId: ({ extra }) => String(extra.mcpReq._meta?.callId),
  });
  for (const [name, run] of toolsOf(turn)) server.registerTool(name, SCHEMAS, run);
  return server;
}

export const framework = frameworkOf("mcp-version-2", (turn) => {
  return connectOverHttp(() => serverOf(turn));
});

export const version: McpVersion<McpServer, Server> = {
  name: "mcp 2",
  calledField: "executor",
  newServer: (options) => new McpServer(INFO, options),
  newLowLevelServer: () => new Server(INFO, { capabilities: { tools: {} } }),
  register: (server, name, run) => server.registerTool(name, { inputSchema }, run),
  registerWithoutSchema(server, name, run) {
    server.registerTool(name, { description: "no input" }, run);
  },
  setCallHandler(server, handler) {
    (server as Server).setRequestHandler("tools/call", handler);
  },
  connect: (server) => connect(server),
};
