/**
 * Gates the tools of LangChain: `countersignMiddleware` for `createAgent`, `gateTools` for graphs
 * of LangGraph. The adapter submits the validated input, as the tool's function receives it.
 *
 * With `wait: false` of `approvals`, an undecided call interrupts the graph. Resume the graph with
 * `null` when the decision is known. A `ToolNode` then repeats all calls of its turn, so completed
 * calls return their saved results. Only this mode imports LangGraph.
 */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { StructuredToolInterface, ToolRunnableConfig } from "@langchain/core/tools";
import type { AgentMiddleware } from "langchain";
import { digestOf } from "./digest.ts";
import {
  cannotGate,
  cloneWith,
  type FrameworkOptions,
  type NotRun,
  namesIn,
  readSelection,
  runCall,
  unknownNamesMessage,
} from "./framework-call.ts";
import { type ResultCodec, runCallOnce } from "./kept-results.ts";

export { isNotRun, type NotRun } from "./framework-call.ts";

/** The framework's information about a call. */
export interface ToolCallOrigin {
  /** Name of the tool. */
  readonly toolName: string;
  /** Id of the call from the model. */
  readonly callId: string;
  /** The configuration that LangChain passes to the tool. */
  readonly config: ToolRunnableConfig;
}

/** Options of this adapter. */
export interface LangChainOptions extends Omit<FrameworkOptions<ToolCallOrigin>, "runId"> {
  /** Id of the run. Default: `configurable.thread_id` of the graph. */
  readonly runId?: FrameworkOptions<ToolCallOrigin>["runId"] | undefined;
}

/** The part of StructuredTool that runs the function, after schema validation. */
interface Inner {
  readonly responseFormat?: string;
  _call?(input: unknown, runManager: unknown, config?: Config): unknown;
}

/** An agent's node adds the state of the graph. */
type Config = ToolRunnableConfig & { readonly state?: { readonly messages?: unknown } };

/** Tools of {@link gateTool}. */
const gatedTools = new WeakSet<object>();

/**
 * Gates tools. If a call does not run, its result is a `ToolMessage` with the status `error`. The
 * content is the reason, and the artifact is a {@link NotRun}.
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
    const run = async (approved: unknown) => {
      try {
        return await inner._call?.(approved, runManager, config);
      } catch (error) {
        if (!isInterruption(error)) throw error;
        const why = "it interrupts the graph, and an approval permits only one start.";
        throw cannotGate(name, `${why} Name it in except.`);
      }
    };
    const outcome = settings.approvals.waits
      ? await runCall(withRun, proposal, origin, run)
      : await runCallOnce(withRun, proposal, origin, run, { step: stepOf(config), codec: RESULTS });
    if (outcome.ran) return outcome.value;
    const { notRun } = outcome;
    if (notRun.notRun === "pending") throw await interruptionOf(origin, notRun);
    const refusal = await errorMessage(name, callId, notRun.message, notRun);
    return inner.responseFormat === "content_and_artifact" ? [refusal, notRun] : refusal;
  };
  const gated = cloneWith(tool, { _call });
  gatedTools.add(gated);
  return gated;
}

/**
 * Gates the tools of an agent of `createAgent`. Put it last in the list of `middleware`: a later
 * middleware could replace the gated tool. The gate is inside of the tool, so it submits the
 * arguments after all changes by other middleware and by the schema.
 *
 * If `only` or `except` contains a name that the model has not received yet, the tools without a
 * gate do not run: after a spelling mistake in `only`, a tool would run without an approval.
 *
 * @throws SdkError `invalid_option` for an invalid selection. The run throws it for a tool that is
 *   not a LangChain tool, and after a later middleware bypassed the gate
 */
export function countersignMiddleware(
  settings: LangChainOptions,
): AgentMiddleware<undefined, undefined, unknown> {
  const isSelected = readSelection(settings);
  const known = new Set<unknown>();
  const wrapToolCall: ToolCallWrapper = async (request, handler) => {
    const { tool, toolCall } = request;
    // The framework runs `tool`, also if another middleware changed the name in `toolCall`.
    const name = String(tool?.name ?? toolCall.name);
    const refuse = (reason: string) => {
      settings.approvals.warn(reason);
      return errorMessage(name, toolCall.id ?? "", reason);
    };
    if (!isSelected(name)) {
      const unknown = unknownNamesMessage(settings, known);
      return unknown === undefined ? handler(request) : refuse(unknown);
    }
    // A later middleware could supply the tool.
    if (tool === undefined) return refuse(`The agent has no tool ${JSON.stringify(name)}.`);
    let isReached = false;
    const made = tool as StructuredToolInterface;
    const gated = (gatedTools.has(tool) ? made : gateTool(made, settings)) as object as Inner;
    const _call: Inner["_call"] = (...args) => {
      isReached = true;
      return gated._call?.(...args);
    };
    const result = await handler({ ...request, tool: cloneWith(gated, { _call }) as typeof tool });
    if (isReached) return result;
    throw cannotGate(name, "another middleware replaced it. Put countersignMiddleware last.");
  };
  const wrapModelCall: ModelCallWrapper = async (request, handler) => {
    for (const { name } of request.tools) known.add(name);
    return handler(request);
  };
  const middleware = {
    name: "countersignMiddleware",
    wrapToolCall,
    // The framework wraps the errors of this hook, so use it only if it is needed.
    ...(namesIn(settings).length > 0 && { wrapModelCall }),
  };
  // `createMiddleware` adds only the mark of its type. Graphs of LangGraph do not need its package.
  return middleware as object as AgentMiddleware<undefined, undefined, unknown>;
}

type ToolCallWrapper = NonNullable<AgentMiddleware["wrapToolCall"]>;
type ModelCallWrapper = NonNullable<AgentMiddleware["wrapModelCall"]>;

async function errorMessage(
  name: string,
  id: string,
  content: string,
  artifact?: NotRun,
): Promise<ToolMessage> {
  const { ToolMessage } = await import("@langchain/core/messages");
  return new ToolMessage({ name, tool_call_id: id, content, artifact, status: "error" });
}

/**
 * An interrupt with an id of its own. `interrupt` of LangGraph uses the same id for all tools of a
 * step, so the answer to this interrupt could answer the `interrupt` of another tool.
 */
async function interruptionOf({ toolName, config }: ToolCallOrigin, notRun: NotRun) {
  const { GraphInterrupt } = await import("@langchain/langgraph");
  if (!config.configurable?.__pregel_checkpointer) {
    throw cannotGate(toolName, "with wait: false, the graph needs a checkpointer.");
  }
  // LangGraph expects 32 hexadecimal characters.
  const id = (await digestOf(notRun.requestId ?? "")).slice(0, 32);
  return new GraphInterrupt([{ id, value: notRun }]);
}

/** Compares the name as LangGraph does, because not every graph of LangChain can import it. */
function isInterruption(error: unknown): boolean {
  return error instanceof Error && ["GraphInterrupt", "NodeInterrupt"].includes(error.name);
}

/** The task of the graph. The tasks of a sub-agent are below that of its tool. */
function stepOf({ configurable }: Config): string {
  return String(configurable?.checkpoint_ns ?? "");
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
  throw cannotGate(toolName, "pass runId or set configurable.thread_id.");
}

/** The model's text in the message with the call. */
function textBeside(callId: string, messages: unknown): string | undefined {
  if (!Array.isArray(messages)) return undefined;
  const message = (messages as (BaseMessage & { tool_calls?: { id?: string }[] })[]).findLast(
    ({ tool_calls: calls }) => calls?.some(({ id }) => id === callId),
  );
  return message?.text.toWellFormed() || undefined;
}
