/**
 * Gates the tools of LangChain, for agents of `langchain` and graphs of LangGraph. What is
 * submitted is the input after the tool's schema, as its function gets it.
 *
 * In front of a gate of mode `async`, a call that waits interrupts the graph; resume it when the
 * decision is known. A `ToolNode` then repeats all calls of its turn, so those that have run return
 * their saved results. LangGraph is loaded only then.
 */

import type { BaseMessage } from "@langchain/core/messages";
import type { StructuredToolInterface, ToolRunnableConfig } from "@langchain/core/tools";
import { cannotGate, cloneWith, type Gating, runGated } from "./gated-call.ts";
import { type ResultCodec, runGatedOnce } from "./kept-results.ts";

export { isNotRun, type NotRun } from "./gated-call.ts";

/** What is known of a call. */
export interface ToolCallOrigin {
  readonly toolName: string;
  readonly callId: string;
  readonly config: ToolRunnableConfig;
}

/** Without a `runId` it is the `thread_id` of the graph. */
export interface LangChainGating extends Omit<Gating<ToolCallOrigin>, "runId"> {
  readonly runId?: Gating<ToolCallOrigin>["runId"];
}

/** The part of StructuredTool that runs the function, behind the schema. */
interface Inner {
  readonly responseFormat?: string;
  _call?(input: unknown, runManager: unknown, config?: Config): unknown;
}

/** The node of an agent adds the state of the graph. */
type Config = ToolRunnableConfig & { readonly state?: { readonly messages?: unknown } };

/** @throws SdkError `invalid_option` for what is no tool of LangChain, as it runs elsewhere */
export function gateTools<T extends StructuredToolInterface>(
  tools: readonly T[],
  gating: LangChainGating,
): T[] {
  return tools.map((tool) => gateTool(tool, gating));
}

/** @throws SdkError `invalid_option` as {@link gateTools} does */
export function gateTool<T extends StructuredToolInterface>(tool: T, gating: LangChainGating): T {
  const inner = tool as Inner;
  const name = tool.name;
  if (typeof inner._call !== "function") throw cannotGate(name, "it is not a StructuredTool.");
  const withRun = { ...gating, runId: gating.runId ?? threadOf };
  const _call: Inner["_call"] = async (input, runManager, config = {}) => {
    const callId = config.toolCall?.id;
    if (callId === undefined) throw cannotGate(name, "it is called without a tool call.");
    const origin = { toolName: name, callId, config };
    const proposal = {
      runtime: "langchain",
      tool: name,
      callId,
      arguments: input,
      reasoning: textBeside(callId, config.state?.messages),
      signal: config.signal,
    };
    for (;;) {
      const run = (approved: unknown) => inner._call?.(approved, runManager, config);
      const outcome =
        gating.gate.mode === "async"
          ? await runGatedOnce(withRun, proposal, origin, run, RESULTS)
          : await runGated(withRun, proposal, origin, run);
      if (outcome.ran) return outcome.value;
      const { notRun } = outcome;
      if (notRun.notRun !== "pending") {
        const isPair = inner.responseFormat === "content_and_artifact";
        return isPair ? [notRun.reason, notRun] : notRun.reason;
      }
      const { interrupt } = await import("@langchain/langgraph");
      // Throws until the graph is resumed; then only the provider is asked again.
      interrupt(notRun);
    }
  };
  return cloneWith(tool, { _call });
}

/** Results as LangGraph itself writes them into checkpoints. */
const RESULTS: ResultCodec = {
  async write(result) {
    const { MemorySaver } = await import("@langchain/langgraph");
    const { serde } = new MemorySaver();
    const [type, bytes] = await serde.dumpsTyped(result);
    const restored: unknown = await serde.loadsTyped(type, bytes);
    // Some objects, like a Command, come back as plain data.
    if (prototypeOf(restored) !== prototypeOf(result)) return undefined;
    return JSON.stringify([type, new TextDecoder("utf-8", { fatal: true }).decode(bytes)]);
  },
  async read(text) {
    const { MemorySaver } = await import("@langchain/langgraph");
    const [type, data] = JSON.parse(text) as [string, string];
    return new MemorySaver().serde.loadsTyped(type, new TextEncoder().encode(data));
  },
};

function prototypeOf(value: unknown): unknown {
  return Object(value) === value ? Object.getPrototypeOf(value) : typeof value;
}

function threadOf({ toolName, config }: ToolCallOrigin): string {
  const threadId: unknown = config.configurable?.thread_id;
  if (typeof threadId === "string" && threadId !== "") return threadId;
  throw cannotGate(toolName, "pass runId to gateTools or set configurable.thread_id.");
}

/** What the model wrote beside its call. */
function textBeside(callId: string, messages: unknown): string | undefined {
  if (!Array.isArray(messages)) return undefined;
  const message = (messages as (BaseMessage & { tool_calls?: { id?: string }[] })[]).findLast(
    ({ tool_calls: calls }) => calls?.some(({ id }) => id === callId),
  );
  return message?.text.toWellFormed() || undefined;
}
