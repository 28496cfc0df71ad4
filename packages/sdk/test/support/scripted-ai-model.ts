/**
 * A scripted model of the AI SDK, which Mastra takes as well: it proposes calls of `pay`, and ends
 * when it was given results.
 */

import { MockLanguageModelV4 } from "ai/test";
import type { ScriptedCall } from "./framework-rules.ts";

type Generate = Extract<MockLanguageModelV4["doGenerate"], (...args: never) => unknown>;
type Result = Awaited<ReturnType<Generate>>;

export const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

function turn(content: Result["content"], unified: "stop" | "tool-calls"): Result {
  return { content, finishReason: { unified, raw: undefined }, usage: USAGE, warnings: [] };
}

export function scriptedModel(calls: readonly ScriptedCall[]): MockLanguageModelV4 {
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      if (prompt.at(-1)?.role === "tool") return turn([{ type: "text", text: "done" }], "stop");
      const content = calls.map(({ id, arguments: args }) => {
        const about = { type: "tool-call", toolCallId: id, toolName: "pay" } as const;
        return { ...about, input: JSON.stringify(args) };
      });
      return turn(content, "tool-calls");
    },
  });
}

/** The results that the model received for its calls: texts, or the reason of another result. */
export function toolResultsOf(model: MockLanguageModelV4): string[] {
  const last = model.doGenerateCalls.at(-1)?.prompt ?? [];
  const results = last.flatMap((message) => (message.role === "tool" ? message.content : []));
  return results.flatMap((part) => {
    if (part.type !== "tool-result" || !("value" in part.output)) return [];
    const { value } = part.output;
    return [typeof value === "string" ? value : String(Object(value).reason)];
  });
}
