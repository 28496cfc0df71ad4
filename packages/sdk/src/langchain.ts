/**
 * Gates the tools of LangChain, for agents of `langchain` and graphs of LangGraph. What is
 * submitted is the input after the tool's schema, as its function gets it.
 *
 * In front of a gate of mode `async`, a call that waits interrupts the graph; resume it when the
 * decision is known. Called by: programs that make agents. LangGraph is loaded for interrupts only.
 */

import type { BaseMessage } from "@langchain/core/messages";
import type { StructuredToolInterface, ToolRunnableConfig } from "@langchain/core/tools";
import { cloneWith, type Gating, runGated, ungateable } from "./gated-call.ts";

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
  if (typeof inner._call !== "function") throw ungateable(name, "it is no StructuredTool.");
  const withRun = { ...gating, runId: gating.runId ?? threadOf };
  const _call: Inner["_call"] = async (input, runManager, config = {}) => {
    const callId = config.toolCall?.id;
    if (callId === undefined) throw ungateable(name, "it is called without a tool call.");
    const origin = { toolName: name, callId, config };
    const proposal = {
      ...{ runtime: "langchain", tool: name, callId, arguments: input },
      reasoning: textBeside(callId, config.state?.messages),
      signal: config.signal,
    };
    for (;;) {
      const outcome = await runGated(withRun, proposal, origin, (approved) => {
        return inner._call?.(approved, runManager, config);
      });
      if (outcome.ran) return outcome.value;
      const { notRun } = outcome;
      if (notRun.notRun !== "pending") {
        const isPair = inner.responseFormat === "content_and_artifact";
        return isPair ? [notRun.reason, notRun] : notRun.reason;
      }
      const { interrupt } = await import("@langchain/langgraph");
      // Throws until the graph is resumed; then the provider is asked again, and nobody else.
      interrupt(notRun);
    }
  };
  return cloneWith(tool, { _call });
}

function threadOf({ toolName, config }: ToolCallOrigin): string {
  const threadId: unknown = config.configurable?.thread_id;
  if (typeof threadId === "string" && threadId !== "") return threadId;
  throw ungateable(toolName, "there is neither a runId nor a thread_id to name the run.");
}

/** What the model wrote beside its call. */
function textBeside(callId: string, messages: unknown): string | undefined {
  if (!Array.isArray(messages)) return undefined;
  const message = (messages as (BaseMessage & { tool_calls?: { id?: string }[] })[]).findLast(
    ({ tool_calls: calls }) => calls?.some(({ id }) => id === callId),
  );
  return message?.text.toWellFormed() || undefined;
}
