/**
 * Tools of `createSdkMcpServer`, for the shared rules of the frameworks. A client takes the place
 * of Claude Code, and sends the id of each call as Claude Code does.
 */

import { createSdkMcpServer, tool } from "@anthropic-ai/claude-agent-sdk";
import { gateTools } from "@countersign/sdk/claude-agent-sdk";
import { Client as McpClient } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { z } from "zod";
import {
  type Framework,
  lookOf,
  type Payment,
  settingsOf,
  type Turn,
} from "../framework-description.ts";

const INFO = { name: "payments", version: "1.0.0" };
const SCHEMA = { to: z.string().trim(), cents: z.number() };

export function toolOf(name: string, act: (input: Payment) => string) {
  return tool(name, "acts", SCHEMA, async (input) => {
    return { content: [{ type: "text", text: act(input) }] };
  });
}

export function toolsOf(turn: Turn) {
  return gateTools([toolOf("pay", turn.pay), toolOf("look", lookOf(turn))], settingsOf(turn));
}

export async function connect(tools: ReturnType<typeof toolOf>[]): Promise<McpClient> {
  const { instance } = createSdkMcpServer({ ...INFO, tools });
  const client = new McpClient(INFO);
  const [here, there] = InMemoryTransport.createLinkedPair();
  await Promise.all([instance.connect(there), client.connect(here)]);
  return client;
}

export function textOf({ content }: object & { readonly content?: unknown }): string {
  return (content as readonly { readonly text: string }[])[0]?.text ?? "";
}

export const framework: Framework = {
  name: "claude-agent-sdk",
  async run(turn) {
    const client = await connect(toolsOf(turn));
    const options = { ...(turn.signal && { signal: turn.signal }) };
    const results = turn.calls.map(async ({ id, tool: name = "pay", arguments: args }) => {
      const params = { name, arguments: { ...args }, _meta: { "claudecode/toolUseId": id } };
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
