/**
 * An MCP server of version 2 of the MCP SDK, whose tool refunds money after an approval, and a
 * client that calls it over HTTP.
 *
 *   COUNTERSIGN_URL=http://localhost:8787 COUNTERSIGN_API_KEY=cs_inst_... \
 *     node examples/agents/mcp-version-2.ts
 */

import { Countersign } from "@countersign/sdk";
import { gateServer } from "@countersign/sdk/mcp";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

const approvals = new Countersign(); // COUNTERSIGN_URL, COUNTERSIGN_API_KEY

function newServer(): McpServer {
  const server = new McpServer({ name: "refunds", version: "1.0.0" });
  gateServer(server, { approvals }); // before its tools are registered
  registerRefund(server);
  return server;
}

function registerRefund(server: McpServer): void {
  server.registerTool(
    "refund",
    {
      description: "Gives money back",
      inputSchema: z.object({ order: z.string(), cents: z.number() }),
    },
    async ({ order, cents }) => {
      return { content: [{ type: "text", text: `${cents} back for ${order}` }] };
    },
  );
}

const handler = createMcpHandler(newServer);

// In a real server, an HTTP server calls `handler.fetch`. No client is needed.
const url = new URL("http://localhost/mcp");
const transport = new StreamableHTTPClientTransport(url, {
  fetch: (input, init) => handler.fetch(new Request(input, init)),
});
const versionNegotiation = { mode: "auto" } as const;
const caller = new Client({ name: "agent", version: "1.0.0" }, { versionNegotiation });
await caller.connect(transport);
const call = { name: "refund", arguments: { order: "A-1", cents: 500 } };
const { content } = await caller.callTool(call, { timeout: 3_600_000 });
const [part] = content;
console.log(part?.type === "text" ? part.text : content);
await caller.close();
