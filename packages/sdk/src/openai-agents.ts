/**
 * Gates function tools of the OpenAI Agents SDK. `gatedTool` takes what `tool` takes and submits
 * the arguments after its schema; `gateTools` takes tools that are made already, and submits what
 * the model proposed, before their schema.
 *
 * In front of a gate of mode `async`, a call that waits interrupts the run: keep its RunState, and
 * run `resumeState` of it again when a decision is known.
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
import { cannotGate, type Gating, isWaiting, type Proposal, runGated } from "./gated-call.ts";

export type { NotRun } from "./gated-call.ts";

type ToolCallDetails = NonNullable<Parameters<FunctionTool["invoke"]>[2]>;

/** What is known of a call when it is proposed, and the same when it is run. */
export interface ToolCallOrigin<Context = unknown> {
  readonly toolName: string;
  readonly callId: string;
  readonly runContext: RunContext<Context>;
}

export type AgentsGating<Context = unknown> = Gating<ToolCallOrigin<Context>>;

/**
 * As `tool` of the framework; the result of a call that was not run are the words for the model.
 *
 * @throws SdkError `invalid_option` for a tool with an `outputSchema`, which words do not fit
 */
export function gatedTool<
  Parameters extends ToolInputParameters = undefined,
  Context = unknown,
  Result = string,
>(
  options: ToolOptions<Parameters, Context>,
  gating: AgentsGating<Context>,
): FunctionTool<Context, Parameters, Result | string> {
  const { execute, needsApproval, outputSchema } = options;
  const name = options.name ?? execute.name;
  if (outputSchema !== undefined)
    throw cannotGate(name, "it has an outputSchema, and refusals are plain text.");
  const gatedOptions = {
    ...options,
    execute: (input: unknown, runContext: RunContext<Context>, details?: ToolCallDetails) => {
      // Named as the framework names it, which may have changed a letter.
      const origin = originOf(made.name, runContext, details);
      const run = (approved: unknown) => execute(approved as never, runContext, details);
      return answer(gating, origin, { arguments: input, signal: details?.signal }, run);
    },
    needsApproval: waits(gating, () => made.name, asFunction(needsApproval)) ?? needsApproval,
  };
  const made: FunctionTool<Context, Parameters, Result | string> = tool(
    gatedOptions as ToolOptions<Parameters, Context>,
  );
  rememberReader(gating, made, async (input) => {
    const { value } = read(input);
    const schema = Object(options.parameters)["~standard"] as StandardSchema | undefined;
    const parsed = schema === undefined ? { value } : await schema.validate(value);
    // The framework reports what does not fit the schema.
    return parsed.issues === undefined ? parsed.value : value;
  });
  return made;
}

/**
 * @param tools function tools, also those of MCP servers
 * @throws SdkError `invalid_option` for a tool that the provider of the model runs: no gate can
 *   hold it
 */
export function gateTools<Context>(
  tools: readonly Tool<Context>[],
  gating: AgentsGating<Context>,
): FunctionTool<Context>[] {
  return tools.map((each) => {
    if (each.type !== "function") throw cannotGate(each.name, `it is of type ${each.type}.`);
    const inner = each as FunctionTool<Context>;
    if (inner.outputSchema !== undefined) {
      throw cannotGate(each.name, "it has an outputSchema, and refusals are plain text.");
    }
    const invoke: typeof inner.invoke = (runContext, input, details) => {
      const origin = originOf(each.name, runContext, details);
      const { value, write } = read(input);
      const proposed = { arguments: value, signal: details?.signal };
      return answer(gating, origin, proposed, (approved) => {
        return inner.invoke(runContext, write(approved), details);
      });
    };
    const needsApproval = waits(gating, () => each.name, inner.needsApproval);
    const gated = { ...inner, invoke, ...(needsApproval && { needsApproval }) };
    rememberReader(gating, gated, async (text) => read(text).value);
    return gated;
  });
}

/** The part of a standard schema that is used. */
interface StandardSchema {
  validate(value: unknown): Validated | Promise<Validated>;
}

interface Validated {
  readonly value?: unknown;
  readonly issues?: readonly unknown[] | undefined;
}

/** From the text that the model wrote to what the framework gives `needsApproval`. */
type Reader = (input: string) => Promise<unknown>;

/** By the `invoke` of a tool, which copies of the tool share. */
const readers = new WeakMap<object, Reader>();

function rememberReader<Context>(
  { gate }: AgentsGating<Context>,
  { invoke }: Pick<FunctionTool, "invoke"> | { readonly invoke: object },
  reader: Reader,
): void {
  if (gate.mode === "async") readers.set(invoke, reader);
}

/** The part of a RunState that is used. */
interface SuspendedState {
  readonly _context: RunContext<unknown>;
  getInterruptions(): RunToolApprovalItem[];
  approve(item: RunToolApprovalItem): void;
}

/**
 * What to run an agent with when a decision is known: the state, in which the framework may start
 * each call that no longer waits. Without it, a state of which some calls were decided cannot be
 * kept as text and read again. It decides nothing: the gate asks the provider when the call runs.
 *
 * @returns the same state
 */
export async function resumeState<State extends object>(stored: State): Promise<State> {
  const state = stored as State & SuspendedState;
  for (const item of state.getInterruptions()) {
    const { agent, name, rawItem } = item;
    const tools = agent.tools as readonly Tool[];
    const waiting = tools.find((each) => each.type === "function" && each.name === name);
    if (waiting?.type !== "function" || rawItem.type !== "function_call") continue;
    const reader = readers.get(waiting.invoke);
    if (reader === undefined) continue;
    const input = (await reader(rawItem.arguments)) as never;
    const stillWaits = await waiting.needsApproval(state._context, input, rawItem.callId);
    if (!stillWaits) state.approve(item);
  }
  return stored;
}

async function answer<Context, T>(
  gating: AgentsGating<Context>,
  origin: ToolCallOrigin<Context>,
  proposed: Pick<Proposal, "arguments" | "signal">,
  run: (approved: unknown) => T | Promise<T>,
): Promise<T | string> {
  const outcome = await runGated(gating, proposalOf(origin, proposed), origin, run);
  return outcome.ran ? outcome.value : outcome.notRun.reason;
}

type NeedsApproval = FunctionTool["needsApproval"];

/** @returns undefined in front of a gate that waits for decisions itself */
function waits<Context>(
  gating: AgentsGating<Context>,
  name: () => string,
  inner: NeedsApproval | undefined,
): NeedsApproval | undefined {
  if (gating.gate.mode !== "async") return undefined;
  return async (runContext, input, callId) => {
    if (await inner?.(runContext, input as never, callId)) return true;
    if (callId === undefined) return false;
    const context = runContext as RunContext<Context>;
    const origin = { toolName: name(), callId, runContext: context };
    const proposal = proposalOf(origin, { arguments: input });
    return (await isWaiting(gating, proposal, origin)) !== undefined;
  };
}

function asFunction(needsApproval: unknown): NeedsApproval | undefined {
  if (typeof needsApproval === "function") return needsApproval as NeedsApproval;
  return needsApproval === true ? async () => true : undefined;
}

/** @throws SdkError `invalid_option` outside of a run, where a call has no id */
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
  /** The text that the framework reads as the value again, and as nothing else. */
  readonly write: (approved: unknown) => string;
}

/** As the framework reads it. What is no JSON is submitted as the text that it is. */
function read(input: string): Reading {
  try {
    return { value: JSON.parse(input) as unknown, write: JSON.stringify };
  } catch {
    return { value: input, write: String };
  }
}
