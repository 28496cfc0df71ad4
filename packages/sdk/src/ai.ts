/**
 * Gates the tools of the Vercel AI SDK (package `ai`): each call waits for its approval before its
 * `execute` starts. What is submitted is the input after the tool's schema, as `execute` gets it.
 *
 * Loads nothing of `ai`.
 */

import type {
  ModelMessage,
  Tool,
  ToolApprovalResponse,
  ToolApprovalStatus,
  ToolExecuteFunction,
  ToolExecutionOptions,
  ToolSet,
} from "ai";
import {
  cannotGate,
  type Gating,
  isNotRun,
  isWaiting,
  type NotRun,
  type Proposal,
  runGated,
} from "./gated-call.ts";

export { isNotRun, type NotRun } from "./gated-call.ts";

/** What is known of a call when it is proposed, and the same when it is run. */
export interface ToolCallOrigin {
  readonly toolName: string;
  readonly toolCallId: string;
  /** That the model was given before it proposed the call. */
  readonly messages: readonly ModelMessage[];
}

export type AiGating = Gating<ToolCallOrigin>;

/** The tool, which may answer {@link NotRun} besides what it answers. */
export type GatedTool<T> =
  T extends Tool<infer Input, infer Output, infer Context>
    ? Tool<Input, Output | NotRun, Context> & {
        execute: ToolExecuteFunction<Input, Output | NotRun, Context>;
      }
    : never;

export type GatedToolSet<Tools extends ToolSet> = { [Name in keyof Tools]: GatedTool<Tools[Name]> };

/** By gated tool, for {@link suspendWaiting}. */
const gatings = new WeakMap<object, AiGating>();

/**
 * @param tools each with an `execute`
 * @throws SdkError `invalid_option` for a tool that runs somewhere else
 */
export function gateTools<Tools extends ToolSet>(
  tools: Tools,
  gating: AiGating,
): GatedToolSet<Tools> {
  const gated = Object.entries(tools).map(([name, tool]) => [name, gateTool(name, tool, gating)]);
  return Object.fromEntries(gated) as GatedToolSet<Tools>;
}

function gateTool(name: string, tool: ToolSet[string], gating: AiGating): Tool {
  const { execute, toModelOutput } = tool as Tool;
  if (execute === undefined) throw cannotGate(name, "it has no execute, so it runs elsewhere.");
  const isStreaming = execute.constructor.name === "AsyncGeneratorFunction";
  const gated = {
    ...(tool as Tool),
    execute: isStreaming ? streaming(name, execute, gating) : awaiting(name, execute, gating),
    toModelOutput: async (result: Parameters<NonNullable<typeof toModelOutput>>[0]) => {
      const { output } = result as { readonly output: unknown };
      if (isNotRun(output)) return { type: "error-text" as const, value: output.reason };
      if (toModelOutput !== undefined) return toModelOutput(result);
      if (typeof output === "string") return { type: "text" as const, value: output };
      // As the framework does it where a tool does not.
      return { type: "json" as const, value: JSON.parse(JSON.stringify(output) ?? "null") };
    },
  };
  gatings.set(gated, gating);
  return gated as Tool;
}

type Execute = ToolExecuteFunction<unknown, unknown, unknown>;
type Options = ToolExecutionOptions<unknown>;

function awaiting(name: string, execute: Execute, gating: AiGating): Execute {
  return async (input: unknown, options: Options) => {
    const run = async (approved: unknown) => {
      const output = execute(approved, options);
      return isAsyncIterable(output) ? lastOf(output) : output;
    };
    const origin = originOf(name, options);
    const outcome = await runGated(gating, proposalOf(origin, input, options), origin, run);
    return outcome.ran ? outcome.value : outcome.notRun;
  };
}

/** What streams its output goes on doing so. */
function streaming(name: string, execute: Execute, gating: AiGating): Execute {
  return async function* (input: unknown, options: Options) {
    const origin = originOf(name, options);
    const start = (approved: unknown) => {
      const stream = (execute(approved, options) as AsyncIterable<unknown>)[Symbol.asyncIterator]();
      // A generator starts with its first value, and the approval is for now.
      const first = stream.next();
      first.catch(() => {});
      return { stream, first };
    };
    const outcome = await runGated(gating, proposalOf(origin, input, options), origin, start);
    if (!outcome.ran) {
      yield outcome.notRun;
      return;
    }
    const { stream, first } = outcome.value;
    try {
      for (let next = await first; !next.done; next = await stream.next()) yield next.value;
    } finally {
      // A consumer that stops reading stops the tool, as without a gate.
      await stream.return?.();
    }
  };
}

function originOf(toolName: string, { toolCallId, messages }: Options): ToolCallOrigin {
  return { toolName, toolCallId, messages };
}

function proposalOf(
  { toolName, toolCallId }: ToolCallOrigin,
  input: unknown,
  options: { readonly abortSignal?: AbortSignal | undefined },
): Proposal {
  const about = { runtime: "ai", tool: toolName, callId: toolCallId };
  return { ...about, arguments: input, signal: options.abortSignal };
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof Object(value)[Symbol.asyncIterator] === "function";
}

async function lastOf(stream: AsyncIterable<unknown>): Promise<unknown> {
  let last: unknown;
  for await (const value of stream) last = value;
  return last;
}

/**
 * For the option `toolApproval`: a call of a gated tool that waits for its decision ends the turn
 * with a `tool-approval-request`, instead of being waited for. See {@link resumeMessages}. A tool
 * without a gate keeps its own `needsApproval`, after which the framework asks no further.
 */
export async function suspendWaiting(proposed: {
  readonly toolCall: {
    readonly toolName: string;
    readonly toolCallId: string;
    readonly input: unknown;
  };
  readonly tools: ToolSet | undefined;
  readonly messages: readonly ModelMessage[];
  readonly toolsContext?: object | undefined;
}): Promise<ToolApprovalStatus> {
  const { toolCall, tools = {}, messages, toolsContext = {} } = proposed;
  const { toolName, toolCallId, input } = toolCall;
  const tool = Object.hasOwn(tools, toolName) ? tools[toolName] : undefined;
  const gating = gatings.get(Object(tool));
  if (gating === undefined) {
    const { needsApproval } = Object(tool) as Pick<Tool, "needsApproval">;
    const context = (toolsContext as Readonly<Record<string, never>>)[toolName] ?? {};
    const options = { toolCallId, messages: [...messages], context };
    const isNeeded =
      typeof needsApproval === "function" ? await needsApproval(input, options) : needsApproval;
    return isNeeded ? "user-approval" : undefined;
  }
  const origin = { toolName, toolCallId, messages };
  const pending = await isWaiting(gating, proposalOf(origin, input, {}), origin);
  return pending && { type: "user-approval", reason: pending.reason };
}

/**
 * What to call the model with when a decision is known: the messages, with leave to run each call
 * of a gated tool that was suspended. The leave decides nothing; the gate asks the provider when
 * the call runs. What waits for leave of others, like a call that the model's provider runs, has
 * none from here.
 *
 * @param tools that the model is called with
 */
export function resumeMessages(messages: readonly ModelMessage[], tools: ToolSet): ModelMessage[] {
  const parts = messages.flatMap((message): readonly Part[] => {
    return typeof message.content === "string" ? [] : message.content;
  });
  const isOurs = ({ toolCallId: id }: Part) => {
    const calls = parts.filter((part) => part.type === "tool-call" && part.toolCallId === id);
    return calls.length > 0 && calls.every((call) => !call.providerExecuted && isGated(call));
  };
  const isGated = ({ toolName = "" }: Part) => {
    return Object.hasOwn(tools, toolName) && gatings.has(Object(tools[toolName]));
  };
  const has = (type: string) => (part: Part) => part.type === type;
  const answered = new Set(parts.filter(has("tool-approval-response")).map(approvalIdOf));
  const approvals = parts.filter(has("tool-approval-request")).filter(isOurs).map(approvalIdOf);
  const content = approvals
    .filter((id) => !answered.has(id))
    .map((approvalId): ToolApprovalResponse => {
      return { type: "tool-approval-response", approvalId, approved: true };
    });
  return content.length === 0 ? [...messages] : [...messages, { role: "tool", content }];
}

/** Of a message; which members there are depends on its type. */
interface Part {
  readonly type: string;
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly providerExecuted?: boolean;
}

function approvalIdOf(part: object): string {
  return (part as { readonly approvalId: string }).approvalId;
}
