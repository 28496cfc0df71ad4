/**
 * MCP servers, for the shared rules of the frameworks. A client takes the place of the model.
 */

import { gateServer, type McpOptions } from "@countersign/sdk/mcp";
import { Client as McpClient } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { type Framework, lookOf, settingsOf, type Turn } from "../framework-description.ts";

export const INFO = { name: "payments", version: "1.0.0" };

export const inputSchema = z.object({
  to: z.string().transform((to) => to.trim()),
  cents: z.number(),
});

export function textOf(result: object): string {
  const { content } = result as CallToolResult;
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

export function textResult(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}

export async function connect(server: McpServer | Server): Promise<McpClient> {
  const client = new McpClient(INFO);
  const [here, there] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(there), client.connect(here)]);
  return client;
}

/** @returns a server with gated tools, which uses the call ids of the client */
function serverOf(turn: Turn): McpServer {
  const server = new McpServer(INFO);
  const callId: McpOptions["callId"] = ({ extra }) => String(extra._meta?.callId);
  gateServer(server, { ...settingsOf(turn), callId });
  const outputSchema = z.object({ paid: z.string() });
  for (const [name, act] of [["pay", turn.pay] as const, ["look", lookOf(turn)] as const]) {
    server.registerTool(name, { inputSchema, outputSchema }, async (input) => {
      const paid = act(input);
      return { ...textResult(paid), structuredContent: { paid } };
    });
  }
  return server;
}

export const framework: Framework = {
  name: "mcp",
  async run(turn) {
    const client = await connect(serverOf(turn));
    const options = { ...(turn.signal && { signal: turn.signal }) };
    const results = turn.calls.map(async ({ id, tool: name = "pay", arguments: args }) => {
      const params = { name, arguments: { ...args }, _meta: { callId: id } };
      return [id, textOf(await client.callTool(params, undefined, options))] as const;
    });
    return { results: Object.fromEntries(await Promise.all(results)), streamed: {} };
  },
  streaming: { unsupported: "MCP returns the result of a tool call as one message." },
  suspension: {
    unsupported:
      "An MCP client waits for the response of its request, and the protocol cannot suspend it.",
  },
};
