/**
 * A scripted model of the AI SDK, which Mastra accepts too: it proposes the calls, and stops after
 * it has received results.
 */

import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import type { Results, ScriptedCall } from "./framework-description.ts";

type Generate = Extract<MockLanguageModelV4["doGenerate"], (...args: never) => unknown>;
type Result = Awaited<ReturnType<Generate>>;
type Prompt = Parameters<Generate>[0]["prompt"];
type Stream = Extract<MockLanguageModelV4["doStream"], (...args: never) => unknown>;
type StreamPart = Awaited<ReturnType<Stream>>["stream"] extends ReadableStream<infer P> ? P : never;

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

function turn(calls: readonly ScriptedCall[], prompt: Prompt): Result {
  const hasResults = prompt.at(-1)?.role === "tool";
  const finishReason = {
    unified: hasResults ? ("stop" as const) : ("tool-calls" as const),
    raw: undefined,
  };
  const content: Result["content"] = calls.map(({ id, tool = "pay", arguments: args }) => {
    return { type: "tool-call", toolCallId: id, toolName: tool, input: JSON.stringify(args) };
  });
  return {
    content: hasResults ? [{ type: "text", text: "done" }] : content,
    finishReason,
    usage: USAGE,
    warnings: [],
  };
}

function partsOf({ content, finishReason, usage }: Result): StreamPart[] {
  const parts = content.flatMap((part): StreamPart[] => {
    if (part.type === "tool-call") return [part];
    if (part.type !== "text") return [];
    return [
      { type: "text-start", id: "1" },
      { type: "text-delta", id: "1", delta: part.text },
      { type: "text-end", id: "1" },
    ];
  });
  const start: StreamPart = { type: "stream-start", warnings: [] };
  return [start, ...parts, { type: "finish", finishReason, usage }];
}

export function scriptedModel(calls: readonly ScriptedCall[]): MockLanguageModelV4 {
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => turn(calls, prompt),
    doStream: async ({ prompt }) => {
      return { stream: convertArrayToReadableStream(partsOf(turn(calls, prompt))) };
    },
  });
}

/** The results that the model received: texts, or the reason of another result. */
export function toolResultsOf(model: MockLanguageModelV4): Results {
  const calls = [...model.doGenerateCalls, ...model.doStreamCalls];
  const results = calls
    .flatMap(({ prompt }) => prompt)
    .flatMap((message) => (message.role === "tool" ? message.content : []));
  return Object.fromEntries(
    results.flatMap((part) => {
      if (part.type !== "tool-result") return [];
      const { output } = part;
      const value: unknown = "value" in output ? output.value : Object(output).reason;
      return [[part.toolCallId, typeof value === "string" ? value : JSON.stringify(value)]];
    }),
  );
}
