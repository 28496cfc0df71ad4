/**
 * Gates the tools of Mastra's agents. The adapter submits the validated input. Mastra can validate
 * it again, so the schema must not change its own output.
 *
 * With `wait: false` of `approvals`, an undecided call suspends the agent, as a tool with
 * `requireApproval` does. Pass the run to {@link resumeRun} when the decision is known.
 *
 * Imports only types of Mastra.
 */

import type { Agent, AgentExecutionOptions } from "@mastra/core/agent";
import type { MastraModelOutput } from "@mastra/core/stream";
import type { ToolExecutionContext } from "@mastra/core/tools";
import { SdkError } from "./errors.ts";
import {
  cannotGate,
  cloneWith,
  type FrameworkOptions,
  isNotRun,
  isUndecided,
  type Proposal,
  readSelection,
  reportNotRun,
  runCall,
  type StandardSchema,
  submitCall,
  unlessInvalid,
} from "./framework-call.ts";
import { snapshot } from "./snapshot.ts";

export { isNotRun, type NotRun } from "./framework-call.ts";

/**
 * The framework's information about a call: the same when the call runs and in {@link resumeRun}.
 */
export interface ToolCallOrigin {
  /** Name of the tool. */
  readonly toolName: string;
  /** Id of the call from the model. */
  readonly callId: string;
  /** The part of the context of the tool that a suspended run keeps. */
  readonly context: CallContext;
}

/** The part of Mastra's `ToolExecutionContext` that a suspended run keeps. */
export interface CallContext {
  /** The request context of the run. */
  readonly requestContext?: ToolExecutionContext["requestContext"] | undefined;
  /** The thread and the resource of the agent's memory. */
  readonly agent?:
    | { readonly threadId?: string | undefined; readonly resourceId?: string | undefined }
    | undefined;
}

/** Options of this adapter. */
export interface MastraOptions extends Omit<FrameworkOptions<ToolCallOrigin>, "runId"> {
  /** Id of the run. Default: the thread id of the agent's memory. */
  readonly runId?: FrameworkOptions<ToolCallOrigin>["runId"] | undefined;
}

/** The part of a tool of `createTool` that this adapter uses. */
export interface MastraTool {
  /** Name of the tool. */
  readonly id: string;
  /** Standard schema of the input. */
  readonly inputSchema?: object | undefined;
  /** Runs the tool. A tool without this function cannot be gated. */
  readonly execute?: ((input: never, context: never) => Promise<unknown>) | undefined;
  /** Converts the output for the model. */
  readonly toModelOutput?: ((output: never) => unknown) | undefined;
  /** An own approval of Mastra. A tool with it cannot be gated. */
  readonly requireApproval?: unknown;
}

/** The data of a gated tool for {@link resumeRun}. */
interface Gate {
  readonly settings: Settings;
  readonly schema: StandardSchema | undefined;
}

type Settings = FrameworkOptions<ToolCallOrigin>;

const gates = new WeakMap<object, Gate>();

/**
 * Gates tools.
 *
 * @returns copies of the tools; if a call does not run, its output is a {@link NotRun}
 * @throws SdkError `invalid_option` for a tool without `execute`, because it runs elsewhere, or
 *   with `requireApproval`
 */
export function gateTools<Tools extends Readonly<Record<string, MastraTool>>>(
  tools: Tools,
  settings: MastraOptions,
): Tools {
  const isSelected = readSelection(settings, Object.keys(tools));
  const gated = Object.entries(tools).map(([name, tool]) => {
    return [name, isSelected(name) ? gateTool(name, tool, settings) : tool];
  });
  return Object.fromEntries(gated) as Tools;
}

function gateTool(name: string, tool: MastraTool, settings: MastraOptions): MastraTool {
  const inner = tool as {
    execute?(input: unknown, context: ToolExecutionContext): Promise<unknown>;
    toModelOutput?(output: unknown): unknown;
  };
  if (inner.execute === undefined) throw cannotGate(name, "it has no execute.");
  // `resumeRun` answers the approval requests of gated tools, so it would approve this one.
  if (tool.requireApproval) {
    throw cannotGate(name, "it has its own requireApproval. Remove it, or do not gate the tool.");
  }
  const gate = {
    settings: { ...settings, runId: settings.runId ?? threadOf },
    schema: tool.inputSchema as StandardSchema | undefined,
  };
  const execute = async (input: unknown, context: ToolExecutionContext) => {
    const callId = context?.agent?.toolCallId;
    if (!callId) throw cannotGate(name, "it is called without a tool call.");
    const origin = originOf(name, callId, context);
    const proposal = await proposalOf(gate, origin, input);
    const { abortSignal: signal } = context;
    const outcome = await runCall(gate.settings, { ...proposal, signal }, origin, (approved) => {
      return inner.execute?.(approved, innerContext(name, context));
    });
    if (outcome.ran) return outcome.value;
    const { notRun } = outcome;
    if (notRun.notRun !== "pending") return notRun;
    // As the framework suspends a run for a tool with `requireApproval`.
    await context.agent?.suspend(notRun, { requireToolApproval: true });
    return undefined;
  };
  const { toModelOutput } = inner;
  const changes = {
    execute,
    ...(toModelOutput !== undefined && {
      toModelOutput: (output: unknown) => {
        if (!isNotRun(output)) return toModelOutput.call(tool, output);
        return { type: "error-text", value: output.message };
      },
    }),
    // The tool validates its own output. A NotRun does not match these schemas.
    outputSchema: undefined,
    suspendSchema: undefined,
  };
  const gated = cloneWith(tool, changes);
  gates.set(gated, gate);
  return gated;
}

/** The part of an agent that {@link resumeRun} uses. */
export type ResumableAgent = Pick<
  Agent,
  "listSuspendedRuns" | "approveToolCall" | "declineToolCall"
>;

/** Options of {@link resumeRun}, with all options of the framework's `approveToolCall`. */
export interface ResumeRunOptions extends AgentExecutionOptions<undefined> {
  /** The run id of the framework: `runId` of the suspended output. */
  readonly runId: string;
}

/**
 * Continues a suspended run. For each decided call of a gated tool, it calls `approveToolCall` of
 * the agent, or `declineToolCall` with the reason. This approves no tool call: the adapter reads
 * the decision again from the provider when the call runs. It does not answer calls of other tools.
 *
 * @param tools the result of {@link gateTools} for the tools of this agent, not of its sub-agents
 * @returns the stream of the continued run; undefined while a call of the turn waits, and while the
 *   provider cannot be reached
 * @throws SdkError `invalid_call` if the agent has no such suspended run
 */
export async function resumeRun(
  agent: ResumableAgent,
  tools: Readonly<Record<string, MastraTool>>,
  options: ResumeRunOptions,
): Promise<MastraModelOutput<undefined> | undefined> {
  const { runId, requestContext } = options;
  const { runs } = await agent.listSuspendedRuns(filterOf(options));
  const run = runs.find((each) => each.runId === runId);
  if (run === undefined) {
    const message = `The agent has no suspended run ${JSON.stringify(runId)}. Check its storage.`;
    throw new SdkError("invalid_call", message);
  }
  const { threadId, resourceId } = run;
  const context = { requestContext, agent: { threadId, resourceId } };
  const answers: Answer[] = [];
  for (const { toolCallId = "", toolName = "", args, requiresApproval } of run.toolCalls) {
    const gate = gates.get(Object(Object.hasOwn(tools, toolName) && tools[toolName]));
    if (gate === undefined || !requiresApproval) continue;
    const answer = await readAnswer(gate, originOf(toolName, toolCallId, context), args);
    if (answer !== undefined) answers.push(answer);
  }
  const waiting = run.toolCalls.length - answers.length;
  for (const [i, { toolCallId, reason }] of answers.entries()) {
    const target = { ...options, runId, toolCallId };
    const stream =
      reason === undefined
        ? await agent.approveToolCall<undefined>(target)
        : await agent.declineToolCall<undefined>({ ...target, reason });
    if (waiting === 0 && i === answers.length - 1) return stream;
    // The framework stores the result of a call at the end of its stream.
    await stream.consumeStream();
  }
  return undefined;
}

/** Limits the search for the run in the storage. */
function filterOf({ memory }: ResumeRunOptions) {
  const threadId = typeof memory?.thread === "string" ? memory.thread : memory?.thread?.id;
  return {
    ...(threadId && { threadId }),
    ...(memory?.resource && { resourceId: memory.resource }),
  };
}

/** The answer to the framework's approval request for a call. */
interface Answer {
  readonly toolCallId: string;
  /** Declines the call. */
  readonly reason?: string;
}

/** @returns undefined if the call waits */
async function readAnswer(
  gate: Gate,
  origin: ToolCallOrigin,
  input: unknown,
): Promise<Answer | undefined> {
  const { callId: toolCallId } = origin;
  const proposal = await proposalOf(gate, origin, input);
  const submitted = await submitCall(gate.settings, proposal, origin);
  // The execution reports why the call cannot be submitted.
  if (submitted === undefined || submitted.status === "approved") return { toolCallId };
  if (isUndecided(submitted)) return undefined;
  reportNotRun(gate.settings, submitted);
  return { toolCallId, reason: submitted.messageForModel };
}

function originOf(toolName: string, callId: string, context: CallContext): ToolCallOrigin {
  const { requestContext, agent } = context;
  const { threadId, resourceId } = agent ?? {};
  return { toolName, callId, context: { requestContext, agent: { threadId, resourceId } } };
}

async function proposalOf(
  { schema }: Gate,
  { toolName: tool, callId }: ToolCallOrigin,
  input: unknown,
): Promise<Proposal> {
  const args = await readInput(tool, schema, input);
  return { runtime: "mastra", tool, callId, arguments: args };
}

/**
 * Validates the input. Mastra validates it once or twice, and not at all when it resumes. The tool
 * receives the approved arguments only if another validation does not change them.
 *
 * @throws SdkError `invalid_option` for a schema that changes its own output
 */
async function readInput(name: string, schema: StandardSchema | undefined, input: unknown) {
  if (schema === undefined) return input;
  const first = await schema["~standard"].validate(input);
  // The framework reports violations of the schema.
  if (first.issues !== undefined) return input;
  const second = await schema["~standard"].validate(first.value);
  const text = await textOf(first.value);
  if (text === undefined) return first.value;
  if (second.issues !== undefined || text !== (await textOf(second.value))) {
    throw cannotGate(name, "its inputSchema changes its own output.");
  }
  return first.value;
}

/** @returns undefined for a value that cannot be submitted */
function textOf(value: unknown): Promise<string | undefined> {
  return unlessInvalid(() => snapshot({ value }, "arguments").json.source);
}

/** The tool itself starts for the first time, and an approval permits no second start. */
function innerContext(name: string, context: ToolExecutionContext): ToolExecutionContext {
  const suspend = async () => {
    const why = "it suspends itself, and an approval permits only one start.";
    throw cannotGate(name, `${why} Name it in except.`);
  };
  const first = { suspend, resumeData: undefined, suspendPayload: undefined };
  const inner = { ...context, ...first };
  if (context.agent !== undefined) inner.agent = { ...context.agent, ...first };
  return inner;
}

function threadOf({ toolName, context }: ToolCallOrigin): string {
  const threadId = context.agent?.threadId;
  if (threadId) return threadId;
  throw cannotGate(toolName, "pass runId to gateTools or call the agent with a thread.");
}
