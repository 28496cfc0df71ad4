/**
 * Gates the tools of Mastra's agents. The adapter submits the validated input. Mastra can validate
 * it again, so the schema must not change its own output.
 *
 * With `wait: false` of `approvals`, an undecided call suspends the agent. Resume the agent when
 * the decision is known. Imports only types of Mastra.
 */

import type { ToolExecutionContext } from "@mastra/core/tools";
import { SdkError } from "./errors.ts";
import {
  cannotGate,
  cloneWith,
  type FrameworkOptions,
  isNotRun,
  readSelection,
  runCall,
} from "./framework-call.ts";
import { snapshot } from "./snapshot.ts";

export { isNotRun, type NotRun } from "./framework-call.ts";

/** The framework's information about a call. */
export interface ToolCallOrigin {
  readonly toolName: string;
  readonly callId: string;
  readonly context: ToolExecutionContext;
}

/** Options of this adapter. */
export interface MastraOptions extends Omit<FrameworkOptions<ToolCallOrigin>, "runId"> {
  /** Id of the run. Default: the thread id of the agent's memory. */
  readonly runId?: FrameworkOptions<ToolCallOrigin>["runId"];
}

/** The part of a tool of `createTool` that this adapter uses. */
export interface MastraTool {
  readonly id: string;
  readonly inputSchema?: object | undefined;
  readonly execute?: ((input: never, context: never) => Promise<unknown>) | undefined;
  readonly toModelOutput?: ((output: never) => unknown) | undefined;
}

/** The part of a standard schema that this adapter uses. */
interface Schema {
  readonly "~standard": {
    validate(value: unknown): Validated | Promise<Validated>;
  };
}

interface Validated {
  readonly value?: unknown;
  readonly issues?: readonly unknown[] | undefined;
}

/**
 * Gates tools.
 *
 * @returns copies of the tools; if a call does not run, its output is a {@link NotRun}
 * @throws SdkError `invalid_option` for a tool without `execute`, because it runs elsewhere
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
  const withRun = { ...settings, runId: settings.runId ?? threadOf };
  const execute = async (input: unknown, context: ToolExecutionContext) => {
    const callId = context?.agent?.toolCallId;
    if (!callId) throw cannotGate(name, "it is called without a tool call.");
    const origin = { toolName: name, callId, context };
    const proposal = {
      runtime: "mastra",
      tool: name,
      callId,
      arguments: await readInput(name, tool.inputSchema as Schema | undefined, input),
      signal: context.abortSignal,
    };
    const outcome = await runCall(withRun, proposal, origin, (approved) => {
      return inner.execute?.(approved, unresumed(context));
    });
    if (outcome.ran) return outcome.value;
    const { notRun } = outcome;
    if (notRun.notRun !== "pending") return notRun;
    await context.agent?.suspend(notRun);
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
  return cloneWith(tool, changes);
}

/**
 * Validates the input. Mastra validates it once or twice, and not at all when it resumes. The tool
 * receives the approved arguments only if another validation does not change them.
 *
 * @throws SdkError `invalid_option` for a schema that changes its own output
 */
async function readInput(name: string, schema: Schema | undefined, input: unknown) {
  if (schema === undefined) return input;
  const first = await schema["~standard"].validate(input);
  // The framework reports violations of the schema.
  if (first.issues !== undefined) return input;
  const second = await schema["~standard"].validate(first.value);
  const text = textOf(first.value);
  // The submission reports why the value cannot be submitted.
  if (text === undefined) return first.value;
  if (second.issues !== undefined || text !== textOf(second.value)) {
    throw cannotGate(name, "its inputSchema changes its own output.");
  }
  return first.value;
}

/** @returns undefined for a value that cannot be submitted */
function textOf(value: unknown): string | undefined {
  try {
    return snapshot({ value }, "arguments").json.source;
  } catch (error) {
    if (error instanceof SdkError) return undefined;
    throw error;
  }
}

/** Removes the resume data: the tool itself starts for the first time. */
function unresumed(context: ToolExecutionContext): ToolExecutionContext {
  const { agent } = context;
  if (agent?.resumeData === undefined) return context;
  const { resumeData, suspendPayload, ...rest } = agent;
  return { ...context, agent: rest };
}

function threadOf({ toolName, context }: ToolCallOrigin): string {
  const threadId = context.agent?.threadId;
  if (threadId) return threadId;
  throw cannotGate(toolName, "pass runId to gateTools or call the agent with a thread.");
}
