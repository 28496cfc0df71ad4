/**
 * An agent of the Vercel AI SDK that refunds money after an approval.
 *
 *   npm start
 *
 * A second start continues the same run, in which the tool runs once. For a new run:
 *
 *   npm start -- ai-sdk-2
 */

import { Countersign } from "@countersign/sdk";
import { gateTools } from "@countersign/sdk/ai";
import { generateText, stepCountIs, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { z } from "zod";

const refund = tool({
  description: "Gives money back",
  inputSchema: z.object({ order: z.string(), cents: z.number() }),
  execute: async ({ order, cents }) => `${cents} back for ${order}`,
});

const [runId = "ai-sdk-1"] = process.argv.slice(2);
const approvals = new Countersign(); // COUNTERSIGN_URL, COUNTERSIGN_API_KEY
const tools = gateTools({ refund }, { approvals, runId });

// With a real model: `const model = openai("gpt-5")`, of @ai-sdk/openai. This one needs no key.
const model = scriptedModel();
const prompt = "Give 500 back for A-1.";
const { text } = await generateText({ model, prompt, tools, stopWhen: stepCountIs(5) });
console.log(`Run ${runId}: ${text}`);

/** Calls the tool, then repeats its result. */
function scriptedModel(): MockLanguageModelV4 {
  const input = JSON.stringify({ order: "A-1", cents: 500 });
  const call = { type: "tool-call", toolCallId: "call_1", toolName: "refund", input } as const;
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt: messages }) => {
      const last = messages.at(-1);
      const result = last?.role === "tool" ? last.content[0] : undefined;
      const toolResult: string | undefined = Object(Object(result).output).value;
      return {
        content: toolResult === undefined ? [call] : [{ type: "text", text: toolResult }],
        finishReason: { unified: toolResult === undefined ? "tool-calls" : "stop", raw: undefined },
        usage,
        warnings: [],
      };
    },
  });
}
