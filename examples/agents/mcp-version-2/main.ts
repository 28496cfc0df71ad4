/**
 * An MCP server of version 2 of the MCP SDK with a tool that refunds money after an approval, and a
 * client that calls it over HTTP.
 *
 *   npm start
 *
 * A second start continues the same run, in which the tool runs once. For a new run:
 *
 *   npm start -- mcp-version-2-2
 */

import { Countersign } from "@countersign/sdk";
import { gateServer } from "@countersign/sdk/mcp";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

const [runId = "mcp-version-2-1"] = process.argv.slice(2);
const approvals = new Countersign(); // COUNTERSIGN_URL, COUNTERSIGN_API_KEY

function newServer(): McpServer {
  const server = new McpServer({ name: "refunds", version: "1.0.0" });
  // Before its tools are registered. A client that restarts repeats a call with the same id.
  gateServer(server, {
    approvals,
    runId,
    callId: ({ extra }) => z.string().parse(extra.mcpReq._meta?.callId),
  });
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
const call = {
  name: "refund",
  arguments: { order: "A-1", cents: 500 },
  _meta: { callId: "call_1" },
};
const { content } = await caller.callTool(call, { timeout: 3_600_000 });
const [part] = content;
console.log(`Run ${runId}: ${part?.type === "text" ? part.text : ""}`);
await caller.close();
