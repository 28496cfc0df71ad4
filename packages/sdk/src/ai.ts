/**
 * Gates the tools of the Vercel AI SDK (package `ai`): each call waits for its approval before its
 * `execute` starts. The adapter submits the validated input, as `execute` receives it.
 *
 * Imports only types of `ai`.
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
  type FrameworkOptions,
  isNotRun,
  isUndecided,
  type NotRun,
  type Proposal,
  readSelection,
  reportNotRun,
  runCall,
  submitCall,
} from "./framework-call.ts";

export { isNotRun, type NotRun } from "./framework-call.ts";

/**
 * The framework's information about a call: the same when the call is proposed and when it runs.
 */
export interface ToolCallOrigin {
  /** Name of the tool. */
  readonly toolName: string;
  /** Id of the call from the model. */
  readonly callId: string;
  /** The messages that the model received before it proposed the call. */
  readonly messages: readonly ModelMessage[];
}

/** Options of this adapter. */
export type AiOptions = FrameworkOptions<ToolCallOrigin>;

/** The type of a gated tool: its output, or {@link NotRun}. */
export type GatedTool<T> =
  T extends Tool<infer Input, infer Output, infer Context>
    ? Tool<Input, Output | NotRun, Context> & {
        execute: ToolExecuteFunction<Input, Output | NotRun, Context>;
      }
    : never;

/** The type of a gated tool set. */
export type GatedToolSet<Tools extends ToolSet> = { [Name in keyof Tools]: GatedTool<Tools[Name]> };

/** The key is the `execute` of a gated tool, which copies of the tool share. */
const optionsByExecute = new WeakMap<object, AiOptions>();

/**
 * Gates tools. If a call does not run, its output is a {@link NotRun}.
 *
 * @param tools each selected tool with an `execute`
 * @throws SdkError `invalid_option` for a tool without `execute`, because it runs elsewhere
 */
export function gateTools<Tools extends ToolSet>(
  tools: Tools,
  settings: AiOptions,
): GatedToolSet<Tools> {
  const isSelected = readSelection(settings, Object.keys(tools));
  const gated = Object.entries(tools).map(([name, tool]) => {
    return [name, isSelected(name) ? gateTool(name, tool, settings) : tool];
  });
  return Object.fromEntries(gated) as GatedToolSet<Tools>;
}

function gateTool(name: string, tool: ToolSet[string], settings: AiOptions): Tool {
  const { execute, toModelOutput } = tool as Tool;
  if (execute === undefined) throw cannotGate(name, "it has no execute, so it runs elsewhere.");
  // `resumeMessages` answers the approval requests of gated tools, so it would approve this one.
  if (tool.needsApproval) {
    throw cannotGate(name, "it has its own needsApproval. Remove it, or do not gate the tool.");
  }
  const isStreaming = execute.constructor.name === "AsyncGeneratorFunction";
  const makeGated = isStreaming ? streaming : awaiting;
  const gatedExecute = makeGated(name, execute, settings);
  optionsByExecute.set(gatedExecute, settings);
  const gated = {
    ...(tool as Tool),
    execute: gatedExecute,
    toModelOutput: async (result: Parameters<NonNullable<typeof toModelOutput>>[0]) => {
      const { output } = result as { readonly output: unknown };
      if (isNotRun(output)) return { type: "error-text" as const, value: output.message };
      if (toModelOutput !== undefined) return toModelOutput(result);
      if (typeof output === "string") return { type: "text" as const, value: output };
      // The framework's own default for a tool without `toModelOutput`.
      return { type: "json" as const, value: JSON.parse(JSON.stringify(output) ?? "null") };
    },
  };
  return gated as Tool;
}

type Execute = ToolExecuteFunction<unknown, unknown, unknown>;
type Options = ToolExecutionOptions<unknown>;

function awaiting(name: string, execute: Execute, settings: AiOptions): Execute {
  return async (input: unknown, options: Options) => {
    const run = async (approved: unknown) => {
      const output = execute(approved, options);
      return isAsyncIterable(output) ? lastOf(output) : output;
    };
    const origin = originOf(name, options.toolCallId, options.messages);
    const outcome = await runCall(settings, proposalOf(origin, input, options), origin, run);
    return outcome.ran ? outcome.value : outcome.notRun;
  };
}

/** Keeps the output of a streaming tool a stream. */
function streaming(name: string, execute: Execute, settings: AiOptions): Execute {
  return async function* (input: unknown, options: Options) {
    const origin = originOf(name, options.toolCallId, options.messages);
    const start = (approved: unknown) => {
      const stream = (execute(approved, options) as AsyncIterable<unknown>)[Symbol.asyncIterator]();
      // A generator starts with its first value. Start it now, while the approval is valid.
      const first = stream.next();
      first.catch(() => {});
      return { stream, first };
    };
    const outcome = await runCall(settings, proposalOf(origin, input, options), origin, start);
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

/** @param messages in a resumed turn, they contain the call itself */
function originOf(
  toolName: string,
  callId: string,
  messages: readonly ModelMessage[],
): ToolCallOrigin {
  const index = messages.findLastIndex((message) => {
    return partsOf(message).some(({ toolCallId }) => toolCallId === callId);
  });
  // A tool message contains the result of an earlier call with the same id.
  const isProposal = messages[index]?.role === "assistant";
  return { toolName, callId, messages: isProposal ? messages.slice(0, index) : messages };
}

function proposalOf(
  { toolName, callId }: ToolCallOrigin,
  input: unknown,
  options: { readonly abortSignal?: AbortSignal | undefined },
): Proposal {
  const about = { runtime: "ai", tool: toolName, callId };
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
 * A function for the option `toolApproval`. An undecided call of a gated tool stops the turn with a
 * `tool-approval-request`, instead of waiting: see {@link resumeMessages}. A call that must not run
 * is denied with its reason. For a tool without a gate, the function evaluates the tool's own
 * `needsApproval`, because the framework then does not.
 */
export async function toolApproval(proposed: {
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
  const tool = findTool(toolName, tools);
  const settings = settingsOf(tool);
  if (settings === undefined) {
    const { needsApproval } = Object(tool) as Pick<Tool, "needsApproval">;
    const context = (toolsContext as Readonly<Record<string, never>>)[toolName] ?? {};
    const options = { toolCallId, messages: [...messages], context };
    const isNeeded =
      typeof needsApproval === "function" ? await needsApproval(input, options) : needsApproval;
    return isNeeded ? "user-approval" : undefined;
  }
  const origin = originOf(toolName, toolCallId, messages);
  const submitted = await submitCall(settings, proposalOf(origin, input, {}), origin);
  // The execution runs an approved call, and reports a call without a decision.
  if (submitted === undefined) return undefined;
  if (submitted.status === "approved" || submitted.status === "unavailable") return undefined;
  const { messageForModel: reason } = submitted;
  if (submitted.status === "pending") return { type: "user-approval", reason };
  reportNotRun(settings, submitted);
  return { type: "denied", reason };
}

/**
 * Adds a `tool-approval-response` for each suspended call of a gated tool. Call the model with the
 * result when the decision is known. The response approves no tool call: the adapter reads the
 * decision from the provider when the call runs. Other suspended calls, such as a call that the
 * model's provider runs, get no response.
 *
 * @param messages the messages of the suspended turn
 * @param tools the tools that the model is called with
 * @returns the messages, followed by the responses
 */
export function resumeMessages(messages: readonly ModelMessage[], tools: ToolSet): ModelMessage[] {
  const content = suspendedCalls(messages, tools).map(({ approvalId }): ToolApprovalResponse => {
    return { type: "tool-approval-response", approvalId, approved: true };
  });
  return content.length === 0 ? [...messages] : [...messages, { role: "tool", content }];
}

/**
 * Reads the decisions about suspended calls of gated tools. Pass each response to
 * `addToolApprovalResponse` of `useChat`, or append the responses in a message of the role `tool`.
 * Continue the turn when every suspended call has a response. A response with `approved: true` runs
 * no tool: the adapter reads the decision again when the call runs. A response with
 * `approved: false` does not call `onNotRun`.
 *
 * @param messages the messages of the suspended turn
 * @param tools the tools that the model is called with
 * @returns a response for each decided call
 */
export async function approvalResponses(
  messages: readonly ModelMessage[],
  tools: ToolSet,
): Promise<ToolApprovalResponse[]> {
  const responses = suspendedCalls(messages, tools).map(async ({ approvalId, call, settings }) => {
    const { toolName = "", toolCallId = "", input } = call;
    const origin = originOf(toolName, toolCallId, messages);
    const submitted = await submitCall(settings, proposalOf(origin, input, {}), origin);
    const response = { type: "tool-approval-response", approvalId } as const;
    // The execution reports why a call cannot be submitted.
    if (submitted === undefined || submitted.status === "approved") {
      return [{ ...response, approved: true }];
    }
    if (isUndecided(submitted)) return [];
    return [{ ...response, approved: false, reason: submitted.messageForModel }];
  });
  return (await Promise.all(responses)).flat();
}

interface SuspendedCall {
  readonly approvalId: string;
  readonly call: Part;
  readonly settings: AiOptions;
}

/** @returns the calls of gated tools with an approval request and without a response */
function suspendedCalls(messages: readonly ModelMessage[], tools: ToolSet): SuspendedCall[] {
  const parts = messages.flatMap(partsOf);
  const has = (type: string) => (part: Part) => part.type === type;
  const answered = new Set(parts.filter(has("tool-approval-response")).map(approvalIdOf));
  return parts.filter(has("tool-approval-request")).flatMap((request) => {
    const approvalId = approvalIdOf(request);
    const calls = parts.filter(has("tool-call")).filter(({ toolCallId }) => {
      return toolCallId === request.toolCallId;
    });
    const isGated = ({ toolName, providerExecuted }: Part) => {
      return !providerExecuted && settingsOf(findTool(toolName, tools)) !== undefined;
    };
    const [call] = calls;
    if (call === undefined || !calls.every(isGated) || answered.has(approvalId)) return [];
    const settings = settingsOf(findTool(call.toolName, tools));
    return settings === undefined ? [] : [{ approvalId, call, settings }];
  });
}

function findTool(toolName: string | undefined, tools: ToolSet): ToolSet[string] | undefined {
  return toolName !== undefined && Object.hasOwn(tools, toolName) ? tools[toolName] : undefined;
}

/** @returns undefined for a tool without a gate, and for a copy that has its own needsApproval */
function settingsOf(tool: ToolSet[string] | undefined): AiOptions | undefined {
  const { execute, needsApproval } = Object(tool) as Tool;
  return needsApproval ? undefined : optionsByExecute.get(Object(execute));
}

function partsOf({ content }: ModelMessage): readonly Part[] {
  return typeof content === "string" ? [] : content;
}

/** A part of a message. Its type determines which members it has. */
interface Part {
  readonly type: string;
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly input?: unknown;
  readonly providerExecuted?: boolean;
}

function approvalIdOf(part: object): string {
  return (part as { readonly approvalId: string }).approvalId;
}
