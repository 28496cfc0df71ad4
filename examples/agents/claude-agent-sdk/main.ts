/**
 * An agent of the Claude Agent SDK that refunds money after an approval.
 *
 *   npm start
 *
 * A second start continues the same run, in which the tool runs once. For a new run:
 *
 *   npm start -- claude-agent-sdk-2
 */

import { createSdkMcpServer, type Options, tool } from "@anthropic-ai/claude-agent-sdk";
import { Countersign } from "@countersign/sdk";
import { gateOptions } from "@countersign/sdk/claude-agent-sdk";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { z } from "zod";

const refund = tool(
  "refund",
  "Gives money back",
  { order: z.string(), cents: z.number() },
  async ({ order, cents }) => {
    return { content: [{ type: "text", text: `${cents} back for ${order}` }] };
  },
);
const refunds = createSdkMcpServer({ name: "refunds", tools: [refund] });

const [runId = "claude-agent-sdk-1"] = process.argv.slice(2);
const approvals = new Countersign(); // COUNTERSIGN_URL, COUNTERSIGN_API_KEY
const options = gateOptions({ mcpServers: { refunds } }, { approvals, runId });

// With Claude Code: `query({ prompt: "Give 500 back for A-1.", options })`. This needs no key.
console.log(`Run ${runId}: ${await scriptedQuery(options)}`);

/** Calls the hook, and then the tool, as Claude Code does. Returns the text for the model. */
async function scriptedQuery({ hooks }: Options): Promise<string> {
  const callId = "toolu_1";
  const input = {
    hook_event_name: "PreToolUse" as const,
    session_id: "session-1",
    transcript_path: "",
    cwd: process.cwd(),
    tool_name: "mcp__refunds__refund",
    tool_input: { order: "A-1", cents: 500 },
    tool_use_id: callId,
  };
  const { signal } = new AbortController();
  const answer = await hooks?.PreToolUse?.[0]?.hooks[0]?.(input, callId, { signal });
  const { permissionDecision, permissionDecisionReason, updatedInput } = Object(
    Object(answer).hookSpecificOutput,
  );
  if (permissionDecision !== "allow") return permissionDecisionReason;
  const [here, there] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "agent", version: "1.0.0" });
  await Promise.all([refunds.instance.connect(there), client.connect(here)]);
  const { content } = await client.callTool({ name: "refund", arguments: updatedInput });
  await client.close();
  return (content as { readonly text: string }[])[0]?.text ?? "";
}
