/**
 * Gates the tools of LangChain, for agents of `langchain` and graphs of LangGraph. The adapter
 * submits the validated input, as the tool's function receives it.
 *
 * With `wait: false` of `approvals`, an undecided call interrupts the graph. Resume the graph when
 * the decision is known. A `ToolNode` then repeats all calls of its turn, so completed calls return
 * their saved results. Only this mode imports LangGraph.
 */

import type { BaseMessage } from "@langchain/core/messages";
import type { StructuredToolInterface, ToolRunnableConfig } from "@langchain/core/tools";
import {
  cannotGate,
  cloneWith,
  type FrameworkOptions,
  readSelection,
  runCall,
} from "./framework-call.ts";
import { type ResultCodec, runCallOnce } from "./kept-results.ts";

export { isNotRun, type NotRun } from "./framework-call.ts";

/** The framework's information about a call. */
export interface ToolCallOrigin {
  readonly toolName: string;
  readonly callId: string;
  readonly config: ToolRunnableConfig;
}

/** Options of this adapter. */
export interface LangChainOptions extends Omit<FrameworkOptions<ToolCallOrigin>, "runId"> {
  /** Id of the run. Default: `configurable.thread_id` of the graph. */
  readonly runId?: FrameworkOptions<ToolCallOrigin>["runId"];
}

/** The part of StructuredTool that runs the function, after schema validation. */
interface Inner {
  readonly responseFormat?: string;
  _call?(input: unknown, runManager: unknown, config?: Config): unknown;
}

/** An agent's node adds the state of the graph. */
type Config = ToolRunnableConfig & { readonly state?: { readonly messages?: unknown } };

/**
 * Gates tools. If a call does not run, its result is the reason as text for the model.
 *
 * @throws SdkError `invalid_option` for an object that is not a LangChain tool, because it runs
 *   elsewhere
 */
export function gateTools<T extends StructuredToolInterface>(
  tools: readonly T[],
  settings: LangChainOptions,
): T[] {
  const isSelected = readSelection(
    settings,
    tools.map(({ name }) => name),
  );
  return tools.map((tool) => (isSelected(tool.name) ? gateTool(tool, settings) : tool));
}

/**
 * Gates one tool.
 *
 * @throws SdkError `invalid_option`, see {@link gateTools}
 */
export function gateTool<T extends StructuredToolInterface>(
  tool: T,
  settings: LangChainOptions,
): T {
  const inner = tool as Inner;
  const name = tool.name;
  if (typeof inner._call !== "function") throw cannotGate(name, "it is not a StructuredTool.");
  const withRun = { ...settings, runId: settings.runId ?? threadOf };
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
      const outcome = settings.approvals.waits
        ? await runCall(withRun, proposal, origin, run)
        : await runCallOnce(withRun, proposal, origin, run, RESULTS);
      if (outcome.ran) return outcome.value;
      const { notRun } = outcome;
      if (notRun.notRun !== "pending") {
        const isPair = inner.responseFormat === "content_and_artifact";
        return isPair ? [notRun.message, notRun] : notRun.message;
      }
      const { interrupt } = await import("@langchain/langgraph");
      // Throws until the graph is resumed. Then the loop reads the decision from the provider.
      interrupt(notRun);
    }
  };
  return cloneWith(tool, { _call });
}

/** Serializes results like the checkpoints of LangGraph. */
const RESULTS: ResultCodec = {
  async write(result) {
    const { MemorySaver } = await import("@langchain/langgraph");
    const { serde } = new MemorySaver();
    const [type, bytes] = await serde.dumpsTyped(result);
    const restored: unknown = await serde.loadsTyped(type, bytes);
    // Some objects, such as a Command, deserialize as plain data.
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

/** The model's text in the message with the call. */
function textBeside(callId: string, messages: unknown): string | undefined {
  if (!Array.isArray(messages)) return undefined;
  const message = (messages as (BaseMessage & { tool_calls?: { id?: string }[] })[]).findLast(
    ({ tool_calls: calls }) => calls?.some(({ id }) => id === callId),
  );
  return message?.text.toWellFormed() || undefined;
}
