/**
 * Gates the tool calls of the Claude Agent SDK. `gateOptions` gates all tools of a query with a
 * `PreToolUse` hook. `gateTools` gates tools of `createSdkMcpServer`, after schema validation.
 * `canUseTool` gates only the calls that Claude Code asks about.
 *
 * With `wait: false` of `approvals`, an undecided call ends the query of `gateOptions`. Resume the
 * session when the decision is known. Imports only types of the Claude Agent SDK.
 *
 * Promises: a failure of the adapter denies the call.
 */

import type {
  CanUseTool,
  HookCallback,
  HookJSONOutput,
  Options,
  PreToolUseHookInput,
  PreToolUseHookSpecificOutput,
} from "@anthropic-ai/claude-agent-sdk";
import { splitToolName } from "@countersign/protocol";
import type { Countersign } from "./countersign.ts";
import { DeferredCalls } from "./deferred-calls.ts";
import { SdkError } from "./errors.ts";
import {
  cannotGate,
  type FrameworkOptions,
  type FrameworkResult,
  type Proposal,
  readSelection,
  runCall,
} from "./framework-call.ts";
import { causeOf } from "./network-error.ts";
import type { NotExecuted, Suspended } from "./result.ts";

export { isNotRun, type NotRun } from "./framework-call.ts";

/** The framework's information about a call. */
export interface ToolCallOrigin {
  readonly toolName: string;
  readonly callId: string;
  /** Only of {@link gateOptions}. */
  readonly hookInput?: PreToolUseHookInput | undefined;
}

/** Options of {@link gateTools} and {@link canUseTool}. */
export type ClaudeOptions = FrameworkOptions<ToolCallOrigin>;

/** Options of {@link gateOptions}. */
export interface ClaudeQueryOptions extends Omit<ClaudeOptions, "runId"> {
  /** Id of the run. Default: the id of the session. */
  readonly runId?: ClaudeOptions["runId"] | undefined;
}

/** Above the longest decision window, seven days. Claude Code blocks the call after this time. */
const HOOK_TIMEOUT_S = 8 * 24 * 60 * 60;

/** Member of the MCP metadata with the id of a call. */
const CALL_ID = "claudecode/toolUseId";

/**
 * Adds the gate to the options of a query. It holds every call, also of subagents and in the mode
 * `bypassPermissions`. An approved call runs without another prompt, unless a rule of Claude Code
 * denies it or asks. The names in `only` and `except` are not checked, because hooks do not receive
 * the list of tools.
 */
export function gateOptions(options: Options, settings: ClaudeQueryOptions): Options {
  const deferred = new DeferredCalls();
  const gate = {
    hooks: withGuard(hookOf(settings, deferred)),
    timeout: HOOK_TIMEOUT_S,
    // By default, Claude Code runs the call after an error of a hook.
    onFailure: "block" as const,
  };
  const { hooks = {}, canUseTool: own } = options;
  return {
    ...options,
    ...(own !== undefined && { canUseTool: withoutDeferred(own, deferred) }),
    hooks: { ...hooks, PreToolUse: [...(hooks.PreToolUse ?? []), gate] },
  };
}

const ALONE =
  "This call needs an approval. It was not run, because Claude Code cannot suspend it together " +
  "with another call. Propose it alone.";

/**
 * Adds a hook that asks about each deferred call. Claude Code ranks `defer` above `ask`. But it
 * ignores `defer` if its response has several calls and was not streamed, and then runs each call
 * that no other hook and no rule holds.
 */
function withGuard(hook: HookCallback): HookCallback[] {
  const answers = new Map<string, Promise<HookJSONOutput>>();
  return [
    (input, callId, options) => {
      const answer = hook(input, callId, options);
      answers.set((input as PreToolUseHookInput).tool_use_id, answer);
      return answer;
    },
    async (input) => {
      const { tool_use_id: id } = input as PreToolUseHookInput;
      const answer = await answers.get(id);
      answers.delete(id);
      // Also without an answer, which Claude Code does not do.
      const isHeld = answer === undefined || isDeferral(answer);
      return isHeld ? decide({ permissionDecision: "ask", permissionDecisionReason: ALONE }) : {};
    },
  ];
}

function isDeferral(answer: HookJSONOutput): boolean {
  const { hookSpecificOutput: output } = answer as { readonly hookSpecificOutput?: object };
  return Object(output).permissionDecision === "defer";
}

/** The program's own function does not decide calls that wait for an approval. */
function withoutDeferred(own: CanUseTool, deferred: DeferredCalls): CanUseTool {
  return async (toolName, input, options) => {
    if (deferred.has(options.toolUseID)) return { behavior: "deny", message: ALONE };
    return own(toolName, input, options);
  };
}

function hookOf(settings: ClaudeQueryOptions, deferred: DeferredCalls): HookCallback {
  const isSelected = readSelection(settings);
  return (proposed, _callId, { signal }) => {
    const input = proposed as PreToolUseHookInput;
    return failClosed(settings, input.tool_name, deny, async () => {
      if (!isSelected(input.tool_name)) return {};
      return answerHook(settings, input, { signal, deferred });
    });
  };
}

async function answerHook(
  settings: ClaudeQueryOptions,
  input: PreToolUseHookInput,
  { signal, deferred }: { readonly signal: AbortSignal; readonly deferred: DeferredCalls },
): Promise<HookJSONOutput> {
  let notExecuted: NotExecuted | Suspended | undefined;
  const options: ClaudeOptions = {
    ...settings,
    runId: settings.runId ?? input.session_id,
    context: (origin) => ({ ...factsOf(input), ...contextOf(settings, origin) }),
    onNotRun: (notRun, result, error) => {
      notExecuted = result;
      settings.onNotRun?.(notRun, result, error);
    },
  };
  const { tool_name: toolName, tool_use_id: callId, tool_input: args } = input;
  const origin = { toolName, callId, hookInput: input };
  const outcome = await ask(options, origin, args, { signal });
  if (notExecuted?.status === "pending") {
    const obstacle = deferred.defer(input);
    if (obstacle === undefined) return decide({ permissionDecision: "defer" });
    await cancel(settings.approvals, notExecuted);
    return deny(`This call needs an approval. It was not run, because ${obstacle}.`);
  }
  deferred.settle(input);
  if (isChanged(notExecuted)) return deny(changedMessage(input));
  if (!outcome.ran) return deny(outcome.notRun.message);
  // Replaces changes by hooks that finished earlier.
  return decide({ permissionDecision: "allow", updatedInput: outcome.value });
}

/** Without `permission_mode`, which can change before a deferred call is submitted again. */
function factsOf({ cwd, agent_type, mcp_server }: PreToolUseHookInput): object {
  const facts: Record<string, string | undefined> = { cwd };
  if (agent_type !== undefined) facts.agent_type = agent_type;
  if (mcp_server !== undefined) {
    facts.mcp_server = mcp_server.name;
    facts.mcp_server_source = mcp_server.source;
  }
  return facts;
}

/** True for a call with an id that was submitted before with another content. */
function isChanged(result: NotExecuted | Suspended | undefined): boolean {
  if (result?.status !== "unavailable") return false;
  return (Object(result.error) as Partial<SdkError>).providerCode === "idempotency_conflict";
}

/** A resumed session can have another working directory than the one that reviewers saw. */
function changedMessage({ cwd }: PreToolUseHookInput): string {
  return (
    "This call was not run, because its approval request has another working directory, input " +
    `or context. The working directory is now ${cwd}. Propose the call again for a new approval.`
  );
}

function contextOf({ context }: ClaudeQueryOptions, origin: ToolCallOrigin): object | undefined {
  return typeof context === "function" ? context(origin) : context;
}

/** Cancels the request of a call that cannot be resumed. */
async function cancel(approvals: Countersign, { pending, requestId }: Suspended): Promise<void> {
  try {
    await approvals.cancel(pending);
  } catch (error) {
    const cause = error instanceof SdkError ? error.message : "";
    approvals.warn(`Request ${requestId} of a call that cannot run was not cancelled. ${cause}`);
  }
}

function deny(permissionDecisionReason: string): HookJSONOutput {
  return decide({ permissionDecision: "deny", permissionDecisionReason });
}

function decide(decision: Omit<PreToolUseHookSpecificOutput, "hookEventName">): HookJSONOutput {
  return { hookSpecificOutput: { hookEventName: "PreToolUse", ...decision } };
}

/**
 * Creates a gate for the option `canUseTool`. Claude Code calls it only for calls that no hook,
 * rule or permission mode has decided: it can run all other calls without an approval.
 *
 * @param otherwise decides the calls of tools that need no approval. Default: denies them
 */
export function canUseTool(settings: ClaudeOptions, otherwise?: CanUseTool): CanUseTool {
  const isSelected = readSelection(settings);
  const refuse = (message: string) => ({ behavior: "deny" as const, message });
  return (toolName, input, options) => {
    return failClosed(settings, toolName, refuse, async () => {
      if (!isSelected(toolName)) {
        return otherwise?.(toolName, input, options) ?? refuse(`${toolName} is not permitted.`);
      }
      const origin = { toolName, callId: options.toolUseID };
      const waiting = { signal: options.signal, mustWait: true };
      const outcome = await ask(settings, origin, input, waiting);
      if (!outcome.ran) return refuse(outcome.notRun.message);
      return { behavior: "allow" as const, updatedInput: outcome.value };
    });
  };
}

/** The part of a tool of `tool` that this adapter uses. */
export interface ClaudeTool {
  readonly name: string;
  readonly handler: (args: never, extra: unknown) => Promise<unknown>;
}

/**
 * Gates tools for `createSdkMcpServer`. The handler receives exactly the approved arguments. Claude
 * Code still applies its own permissions first. If a call does not run, its result is an MCP error
 * with the reason.
 */
export function gateTools<T extends ClaudeTool>(tools: readonly T[], settings: ClaudeOptions): T[] {
  const names = tools.map(({ name }) => name);
  const isSelected = readSelection(settings, names);
  return tools.map((tool) => (isSelected(tool.name) ? gateTool(tool, settings) : tool));
}

function gateTool<T extends ClaudeTool>(tool: T, settings: ClaudeOptions): T {
  const { name: toolName } = tool;
  const handler = async (args: object, extra: CallDetails) => {
    const callId = extra?._meta?.[CALL_ID];
    if (typeof callId !== "string") throw cannotGate(toolName, "it is called without a tool call.");
    const start = (approved: object) => tool.handler(approved as never, extra);
    const waiting = { signal: extra.signal, mustWait: true };
    const outcome = await ask(settings, { toolName, callId }, args, waiting, start);
    if (outcome.ran) return outcome.value;
    return { content: [{ type: "text", text: outcome.notRun.message }], isError: true };
  };
  return { ...tool, handler };
}

/** The part of the second argument of a handler that this adapter uses. */
interface CallDetails {
  readonly _meta?: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal;
}

type Arguments = Record<string, unknown>;

/** @param start default: returns the approved arguments */
async function ask<T = Arguments>(
  settings: ClaudeOptions,
  origin: ToolCallOrigin,
  args: unknown,
  waiting: Pick<Proposal, "signal" | "mustWait">,
  start = (approved: object) => approved as T | Promise<T>,
): Promise<FrameworkResult<T>> {
  const { toolName, callId } = origin;
  const proposal = {
    ...splitToolName(toolName),
    ...waiting,
    runtime: "claude-agent-sdk",
    callId,
    arguments: args,
  };
  return runCall(settings, proposal, origin, (approved) => start(approved as object));
}

/** Denies the call after any error, such as one of a function in the options. */
async function failClosed<T>(
  { approvals }: ClaudeQueryOptions,
  toolName: string,
  denied: (message: string) => T,
  decision: () => Promise<T>,
): Promise<T> {
  try {
    return await decision();
  } catch (error) {
    const message = "This call was not run, because its approval could not be checked.";
    // The message of another error may contain a secret.
    const cause = error instanceof SdkError ? error.message : `It failed with ${causeOf(error)}.`;
    approvals.warn(`Tool ${JSON.stringify(toolName)}: ${message} ${cause}`);
    return denied(error instanceof SdkError ? `${message} ${cause}` : message);
  }
}
