/**
 * MCP servers of version 1 of the MCP SDK, for the shared rules.
 */

import { gateServer } from "@countersign/sdk/mcp";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { CallToolRequestSchema } from "@modelcontextprotocol/sdk/types.js";
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

async function connect(server: McpServer | Server): Promise<TestClient> {
  const client = new Client(INFO);
  const [here, there] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(there), client.connect(here)]);
  return {
    async call(call, options = {}) {
      return (await client.callTool({ ...call }, undefined, options)) as TextResult;
    },
    close: () => client.close(),
  };
}

function serverOf(turn: Turn): McpServer {
  const server = new McpServer(INFO);
  gateServer(server, {
    ...settingsOf(turn),
    callId: ({ extra }) => String(extra._meta?.callId),
  });
  for (const [name, run] of toolsOf(turn)) server.registerTool(name, SCHEMAS, run);
  return server;
}

export const framework = frameworkOf("mcp", (turn) => connect(serverOf(turn)));

export const version: McpVersion<McpServer, Server> = {
  name: "mcp",
  calledField: "handler",
  newServer: (options) => new McpServer(INFO, options),
  newLowLevelServer: () => new Server(INFO, { capabilities: { tools: {} } }),
  register: (server, name, run) => server.registerTool(name, { inputSchema }, run),
  registerWithoutSchema(server, name, run) {
    server.registerTool(name, { description: "no input" }, run);
  },
  setCallHandler(server, handler) {
    (server as Server).setRequestHandler(CallToolRequestSchema, handler);
  },
  connect,
};
