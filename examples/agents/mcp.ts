/**
 * An MCP server whose tool refunds money after an approval, and a client that calls it.
 *
 *   COUNTERSIGN_URL=http://localhost:8787 COUNTERSIGN_API_KEY=cs_inst_... \
 *     node examples/agents/mcp.ts
 */

import { join } from "node:path";
import { Client, Gate } from "@countersign/sdk";
import { FileStore } from "@countersign/sdk/file-store";
import { gateServer } from "@countersign/sdk/mcp";
import { Client as McpClient } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

const { COUNTERSIGN_URL = "", COUNTERSIGN_API_KEY = "" } = process.env;
const client = new Client(COUNTERSIGN_URL, COUNTERSIGN_API_KEY);
const gate = new Gate(client, { store: new FileStore(join(import.meta.dirname, "approvals")) });

const server = new McpServer({ name: "refunds", version: "1.0.0" });
gateServer(server, { gate }); // before its tools are registered
server.registerTool(
  "refund",
  {
    description: "Gives money back",
    inputSchema: { order: z.string(), cents: z.number() },
  },
  async ({ order, cents }) => {
    return { content: [{ type: "text", text: `${cents} back for ${order}` }] };
  },
);

// In earnest: `await server.connect(new StdioServerTransport())`, and no client of one's own.
const [here, there] = InMemoryTransport.createLinkedPair();
await server.connect(there);
const caller = new McpClient({ name: "agent", version: "1.0.0" });
await caller.connect(here);
const call = { name: "refund", arguments: { order: "A-1", cents: 500 } };
const patience = { timeout: 3_600_000 };
const { content } = await caller.callTool(call, undefined, patience);
console.log((content as { readonly text: string }[])[0]?.text);
await caller.close();
