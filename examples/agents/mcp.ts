/**
 * An MCP server whose tool refunds money after an approval, and a client that calls it.
 *
 *   COUNTERSIGN_URL=http://localhost:8787 COUNTERSIGN_API_KEY=cs_inst_... \
 *     node examples/agents/mcp.ts
 */

import { Countersign } from "@countersign/sdk";
import { gateServer } from "@countersign/sdk/mcp";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

const approvals = new Countersign(); // COUNTERSIGN_URL, COUNTERSIGN_API_KEY

const server = new McpServer({ name: "refunds", version: "1.0.0" });
gateServer(server, { approvals }); // before its tools are registered
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

// In a real server: `await server.connect(new StdioServerTransport())`. No client is needed.
const [here, there] = InMemoryTransport.createLinkedPair();
await server.connect(there);
const caller = new Client({ name: "agent", version: "1.0.0" });
await caller.connect(here);
const call = { name: "refund", arguments: { order: "A-1", cents: 500 } };
const patience = { timeout: 3_600_000 };
const { content } = await caller.callTool(call, undefined, patience);
console.log((content as { readonly text: string }[])[0]?.text);
await caller.close();
