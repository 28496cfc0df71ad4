/**
 * An agent of Mastra that refunds money after an approval.
 *
 *   npm start
 *
 * A second start continues the same run, in which the tool runs once. For a new run:
 *
 *   npm start -- mastra-2
 */

import { Countersign } from "@countersign/sdk";
import { gateTools } from "@countersign/sdk/mastra";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { MockLanguageModelV4 } from "ai/test";
import { z } from "zod";

const refund = createTool({
  id: "refund",
  description: "Gives money back",
  inputSchema: z.object({ order: z.string(), cents: z.number() }),
  execute: async ({ order, cents }) => ({ refunded: `${cents} back for ${order}` }),
});

const [runId = "mastra-1"] = process.argv.slice(2);
const approvals = new Countersign(); // COUNTERSIGN_URL, COUNTERSIGN_API_KEY
const tools = gateTools({ refund }, { approvals, runId });

// With a real model: `const model = "openai/gpt-5"`, with OPENAI_API_KEY. This one needs no key.
const model = scriptedModel();
const instructions = "You give money back.";
const agent = new Agent({ id: "refunds", name: "Refunds", instructions, model, tools });
const { text } = await agent.generate("Give 500 back for A-1.");
console.log(`Run ${runId}: ${text}`);

/** Calls the tool, then repeats its result. */
function scriptedModel(): ConstructorParameters<typeof Agent>[0]["model"] {
  const input = JSON.stringify({ order: "A-1", cents: 500 });
  const call = { type: "tool-call", toolCallId: "call_1", toolName: "refund", input } as const;
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  const scripted = new MockLanguageModelV4({
    doGenerate: async ({ prompt: messages }) => {
      const last = messages.at(-1);
      const result = last?.role === "tool" ? last.content[0] : undefined;
      const { refunded, message } = Object(Object(Object(result).output).value);
      const text: string | undefined = refunded ?? message;
      return {
        content: text === undefined ? [call] : [{ type: "text", text }],
        finishReason: { unified: text === undefined ? "tool-calls" : "stop", raw: undefined },
        usage,
        warnings: [],
      };
    },
  });
  // Its types are those of another version of the AI SDK than Mastra has inside.
  return scripted as object as ConstructorParameters<typeof Agent>[0]["model"];
}
