/**
 * Gates function tools of the OpenAI Agents SDK. `gatedTool` replaces `tool` and submits the
 * arguments after schema validation. `gateTools` gates existing tools and submits the arguments of
 * the model, before schema validation.
 *
 * With `wait: false` of `approvals`, an undecided call interrupts the run. Store its RunState. When
 * the decision is known, pass the state to `resumeState` and run the agent again.
 */

import {
  type FunctionTool,
  type RunContext,
  type RunToolApprovalItem,
  type Tool,
  type ToolInputParameters,
  type ToolOptions,
  tool,
} from "@openai/agents";
import type { SdkError } from "./errors.ts";
import {
  cannotGate,
  type FrameworkOptions,
  isUndecided,
  type Proposal,
  readSelection,
  reportNotRun,
  runCall,
  type StandardSchema,
  submitCall,
} from "./framework-call.ts";
import type { NotExecuted, Submitted } from "./result.ts";

export { isNotRun, type NotRun } from "./framework-call.ts";

type ToolCallDetails = NonNullable<Parameters<FunctionTool["invoke"]>[2]>;

/**
 * The framework's information about a call: the same when the call is proposed and when it runs.
 */
export interface ToolCallOrigin<Context = unknown> {
  /** Name of the tool. */
  readonly toolName: string;
  /** Id of the call from the model. */
  readonly callId: string;
  /** The context of the run. */
  readonly runContext: RunContext<Context>;
}

/** Options of this adapter. */
export type OpenAIAgentsOptions<Context = unknown> = FrameworkOptions<ToolCallOrigin<Context>>;

/**
 * Creates a gated tool, like `tool` of the framework. If a call does not run, its result is the
 * reason as text for the model.
 *
 * @throws SdkError `invalid_option` for a tool with an `outputSchema`, because refusals are text,
 *   and for a tool with its own `needsApproval` if `approvals` has `wait: false`
 */
export function gatedTool<
  Parameters extends ToolInputParameters = undefined,
  Context = unknown,
  Result = string,
>(
  options: ToolOptions<Parameters, Context>,
  settings: OpenAIAgentsOptions<Context>,
): FunctionTool<Context, Parameters, Result | string> {
  const { execute, needsApproval, outputSchema } = options;
  const name = options.name ?? execute.name;
  assertTextResult(name, outputSchema);
  if (needsApproval && !settings.approvals.waits) throw ownApproval(name);
  const gatedOptions = {
    ...options,
    execute: (input: unknown, runContext: RunContext<Context>, details?: ToolCallDetails) => {
      // The framework may have normalized the name.
      const origin = originOf(made.name, runContext, details);
      const run = (approved: unknown) => execute(approved as never, runContext, details);
      return answer(settings, origin, { arguments: input, signal: details?.signal }, run);
    },
    needsApproval: settings.approvals.waits ? needsApproval : needsDecision(() => suspension),
  };
  const made: FunctionTool<Context, Parameters, Result | string> = tool(
    gatedOptions as ToolOptions<Parameters, Context>,
  );
  const suspension = suspensionOf(settings, made.name, async (input) => {
    const { value } = read(input);
    const schema = (options.parameters as Partial<StandardSchema> | undefined)?.["~standard"];
    const parsed = schema === undefined ? { value } : await schema.validate(value);
    // The framework reports violations of the schema.
    return parsed.issues === undefined ? parsed.value : value;
  });
  if (!settings.approvals.waits) suspensions.set(made.invoke, suspension);
  return made;
}

/**
 * Gates existing tools. If a call does not run, its result is the reason as text for the model.
 * With `wait: false` of `approvals`, the run fails if the tool's own `needsApproval` returns true.
 *
 * @param tools function tools, including tools of MCP servers
 * @throws SdkError `invalid_option` for a tool with an `outputSchema`, and for a tool that the
 *   model's provider runs, because no gate can hold it
 */
export function gateTools<Context>(
  tools: readonly Tool<Context>[],
  settings: OpenAIAgentsOptions<Context>,
): Tool<Context>[] {
  const isSelected = readSelection(
    settings,
    tools.map(({ name }) => name),
  );
  return tools.map((each) => {
    if (!isSelected(each.name)) return each;
    if (each.type !== "function") throw cannotGate(each.name, `it is of type ${each.type}.`);
    const inner = each as FunctionTool<Context>;
    assertTextResult(each.name, inner.outputSchema);
    const invoke: typeof inner.invoke = (runContext, input, details) => {
      const origin = originOf(each.name, runContext, details);
      const { value, write } = read(input);
      const proposed = { arguments: value, signal: details?.signal };
      return answer(settings, origin, proposed, (approved) => {
        return inner.invoke(runContext, write(approved), details);
      });
    };
    if (settings.approvals.waits) return { ...inner, invoke };
    const reader = async (text: string) => read(text).value;
    const suspension = suspensionOf(settings, each.name, reader, inner.needsApproval);
    suspensions.set(invoke, suspension);
    return { ...inner, invoke, needsApproval: needsDecision(() => suspension) };
  });
}

type NeedsApproval = FunctionTool["needsApproval"];

/** How a gated tool suspends its calls, with `wait: false` of `approvals`. */
interface Suspension {
  /** Converts the model's text to the input that the framework passes to `needsApproval`. */
  readonly read: (input: string) => Promise<unknown>;
  submit(
    runContext: RunContext<unknown>,
    input: unknown,
    callId: string,
  ): Promise<Submitted | undefined>;
  report(notExecuted: NotExecuted): void;
}

/** The key is the `invoke` of a tool, which copies of the tool share. */
const suspensions = new WeakMap<object, Suspension>();

function suspensionOf<Context>(
  settings: OpenAIAgentsOptions<Context>,
  toolName: string,
  reader: Suspension["read"],
  ownNeed?: NeedsApproval,
): Suspension {
  return {
    read: reader,
    async submit(runContext, input, callId) {
      if (await ownNeed?.(runContext, input as never, callId)) throw ownApproval(toolName);
      const origin = { toolName, callId, runContext: runContext as RunContext<Context> };
      return submitCall(settings, proposalOf(origin, { arguments: input }), origin);
    },
    report: (notExecuted) => reportNotRun(settings, notExecuted),
  };
}

/** During an outage a call is interrupted too, so that it can be resumed later. */
function needsDecision(suspension: () => Suspension): NeedsApproval {
  return async (runContext, input, callId) => {
    if (callId === undefined) return false;
    return isUndecided(await suspension().submit(runContext, input, callId));
  };
}

/** The part of a RunState that this adapter uses. */
interface SuspendedState {
  readonly _context: RunContext<unknown>;
  getInterruptions(): RunToolApprovalItem[];
  approve(item: RunToolApprovalItem): void;
  reject(item: RunToolApprovalItem, options: { readonly message: string }): void;
}

/**
 * Enters the decisions of the provider in a stored RunState: approves each approved call, and
 * rejects each other decided call with its reason. Undecided calls stay interruptions. The approval
 * in the state runs no tool: the adapter reads the decision again when the call runs.
 *
 * @param stored the state of the interrupted run
 * @returns the same state
 */
export async function resumeState<State extends object>(stored: State): Promise<State> {
  const state = stored as State & SuspendedState;
  for (const item of state.getInterruptions()) {
    const { agent, name, rawItem } = item;
    const tools = agent.tools as readonly Tool[];
    const waiting = tools.find((each) => each.type === "function" && each.name === name);
    if (waiting?.type !== "function" || rawItem.type !== "function_call") continue;
    const suspension = suspensions.get(waiting.invoke);
    if (suspension === undefined) continue;
    const { _context: context } = state;
    const input = await suspension.read(rawItem.arguments);
    const submitted = await suspension.submit(context, input, rawItem.callId);
    if (submitted === undefined || submitted.status === "approved") {
      // The execution reports why a call cannot be submitted.
      state.approve(item);
    } else if (!isUndecided(submitted)) {
      suspension.report(submitted);
      state.reject(item, { message: submitted.messageForModel });
    }
  }
  return stored;
}

async function answer<Context, T>(
  settings: OpenAIAgentsOptions<Context>,
  origin: ToolCallOrigin<Context>,
  proposed: Pick<Proposal, "arguments" | "signal">,
  run: (approved: unknown) => T | Promise<T>,
): Promise<T | string> {
  const outcome = await runCall(settings, proposalOf(origin, proposed), origin, run);
  return outcome.ran ? outcome.value : outcome.notRun.message;
}

function assertTextResult(toolName: string, outputSchema: unknown): void {
  if (outputSchema === undefined) return;
  throw cannotGate(toolName, "it has an outputSchema, and refusals are plain text.");
}

/** The run can be suspended for one approval of a call, not for two. */
function ownApproval(toolName: string): SdkError {
  return cannotGate(
    toolName,
    "it has its own needsApproval. Remove it, do not gate the tool, or use wait: true.",
  );
}

/** @throws SdkError `invalid_option` for a call outside a run, which has no id */
function originOf<Context>(
  toolName: string,
  runContext: RunContext<Context>,
  details: ToolCallDetails | undefined,
): ToolCallOrigin<Context> {
  const callId = details?.toolCall?.callId;
  if (callId === undefined) throw cannotGate(toolName, "it is called without a tool call.");
  return { toolName, callId, runContext };
}

function proposalOf(
  { toolName, callId }: ToolCallOrigin,
  proposed: Pick<Proposal, "arguments" | "signal">,
): Proposal {
  return { runtime: "openai-agents", tool: toolName, callId, ...proposed };
}

interface Reading {
  readonly value: unknown;
  /** Converts the approved value to text that the framework parses to the same value. */
  readonly write: (approved: unknown) => string;
}

/** Parses as the framework does. Submits input that is not valid JSON as text. */
function read(input: string): Reading {
  try {
    return { value: JSON.parse(input) as unknown, write: JSON.stringify };
  } catch {
    return { value: input, write: String };
  }
}
