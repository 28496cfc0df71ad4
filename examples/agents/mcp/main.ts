/**
 * An MCP server with a tool that refunds money after an approval, and a client that calls it.
 *
 *   npm start
 *
 * A second start continues the same run, in which the tool runs once. For a new run:
 *
 *   npm start -- mcp-2
 */

import { Countersign } from "@countersign/sdk";
import { gateServer } from "@countersign/sdk/mcp";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

const [runId = "mcp-1"] = process.argv.slice(2);
const approvals = new Countersign(); // COUNTERSIGN_URL, COUNTERSIGN_API_KEY

const server = new McpServer({ name: "refunds", version: "1.0.0" });
// Before its tools are registered. A client that restarts repeats a call with the same id.
gateServer(server, {
  approvals,
  runId,
  callId: ({ extra }) => z.string().parse(extra._meta?.callId),
});
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
const call = {
  name: "refund",
  arguments: { order: "A-1", cents: 500 },
  _meta: { callId: "call_1" },
};
const patience = { timeout: 3_600_000 };
const { content } = await caller.callTool(call, undefined, patience);
console.log(`Run ${runId}: ${(content as { readonly text: string }[])[0]?.text}`);
await caller.close();
