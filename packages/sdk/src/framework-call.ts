/**
 * Shared code of the framework adapters. Converts a tool call that a model proposed to a call of
 * {@link Countersign}, and its result to the value that the model receives.
 *
 * Promises: the tool starts with exactly the approved arguments; a refusal is a value, never an
 * exception; the same run id and call id produce the same key on every machine.
 */

import type { Countersign } from "./countersign.ts";
import type { DecisionWindow } from "./duration.ts";
import { SdkError } from "./errors.ts";
import type {
  NotExecuted,
  NotExecutedReason,
  Submitted,
  Suspended,
  Unavailable,
} from "./result.ts";
import type { ToolCall } from "./tool-call.ts";

/** Options of every adapter. `CallOrigin` is the framework's information about a tool call. */
export interface FrameworkOptions<CallOrigin> {
  /** Submits the calls. */
  readonly approvals: Countersign;
  /**
   * Id of the run. The key of a call consists of this id and the model's call id. Use the same id
   * when a run is resumed or restarted after a crash, so that its calls are found again.
   */
  readonly runId: string | ((origin: CallOrigin) => string);
  /** The tools that need an approval, by name or by a function. Default: all. */
  readonly only?: readonly string[] | ((toolName: string) => boolean) | undefined;
  /** The names of tools that need no approval. */
  readonly except?: readonly string[] | undefined;
  /** More facts for reviewers and policies, such as the model or the user of the agent. */
  readonly context?: object | ((origin: CallOrigin) => object) | undefined;
  /** Returns the agent's own explanation, for frameworks that do not provide it. */
  readonly reasoning?: ((origin: CallOrigin) => string | undefined) | undefined;
  /** Time that reviewers have to decide, such as `10m`. Default: `timeout` of `approvals`. */
  readonly timeout?: DecisionWindow | undefined;
  /**
   * Called for every call that did not run, with the error if it is `not_submitted`. The framework
   * receives any exception that it throws.
   */
  readonly onNotRun?: (
    notRun: NotRun,
    result: NotExecuted | Suspended | undefined,
    error?: SdkError,
  ) => void;
}

/** The value that the model and the program receive in place of a result if a call did not run. */
export interface NotRun {
  /** Why the call did not run. `not_submitted`: its arguments or ids cannot be submitted. */
  readonly notRun: NotExecutedReason | "pending" | "not_submitted";
  /** Explanation for the model. */
  readonly message: string;
  /** Id of the approval request, if the call was submitted. */
  readonly requestId?: string;
}

/** A call as a framework proposes it. */
export interface Proposal {
  /** Name of the adapter, such as `ai`. */
  readonly runtime: string;
  readonly tool: string;
  /** The MCP server of the tool, as the agent names it. */
  readonly server?: string | undefined;
  /** Id of the call from the model. */
  readonly callId: string;
  readonly arguments: unknown;
  readonly reasoning?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** True for a call that the framework cannot suspend. */
  readonly mustWait?: boolean | undefined;
  /** Facts for reviewers that are not part of the arguments. */
  readonly context?: object | undefined;
}

/** The part of a standard schema that the adapters use. */
export interface StandardSchema {
  readonly "~standard": {
    validate(value: unknown): Validated | Promise<Validated>;
  };
}

interface Validated {
  readonly value?: unknown;
  readonly issues?: readonly unknown[] | undefined;
}

/** A call with the key of its run id and call id. */
export type KeyedCall = ToolCall & { readonly idempotencyKey: string };

export type FrameworkResult<T> =
  | { readonly ran: true; readonly value: T }
  | { readonly ran: false; readonly notRun: NotRun };

/** True if a tool's output is a {@link NotRun}, also after it was serialized as JSON. */
export function isNotRun(output: unknown): output is NotRun {
  const { notRun, message } = Object(output) as Partial<Record<keyof NotRun, unknown>>;
  return typeof notRun === "string" && typeof message === "string";
}

/** @returns the tool names of a selection */
export function namesIn({
  only,
  except = [],
}: Pick<FrameworkOptions<never>, "only" | "except">): readonly string[] {
  return Array.isArray(only) ? [...only, ...except] : except;
}

/**
 * @param names the tools of the framework, if all are known
 * @returns a predicate: true for the name of a tool that needs an approval
 * @throws SdkError `invalid_option` for an option that names an unknown tool: after a spelling
 *   mistake, the tool would run without an approval
 */
export function readSelection(
  { only, except = [] }: Pick<FrameworkOptions<never>, "only" | "except">,
  names?: readonly string[],
): (toolName: string) => boolean {
  const isList = (value: unknown) => value === undefined || Array.isArray(value);
  const isUsable = isList(except) && (isList(only) || typeof only === "function");
  if (!isUsable) {
    const expected = "Expected lists of tool names, or a function for only.";
    throw new SdkError("invalid_option", `Invalid only or except. ${expected}`);
  }
  const named = namesIn({ only, except });
  const unknown = names === undefined ? [] : named.filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    const message = `only or except names unknown tools: ${unknown.map((n) => JSON.stringify(n))}.`;
    throw new SdkError("invalid_option", `${message} Known: ${names?.join(", ")}.`);
  }
  const isIncluded = (name: string) => {
    if (only === undefined) return true;
    // The names of `except` are removed below.
    return typeof only === "function" ? only(name) : named.includes(name);
  };
  return (name) => isIncluded(name) && !except.includes(name);
}

/**
 * For adapters that receive the tools later.
 *
 * @param known the names of the tools so far
 * @returns the reason why no ungated tool may run; undefined if all names of the selection are
 *   known
 */
export function unknownNamesMessage(
  settings: Pick<FrameworkOptions<never>, "only" | "except">,
  known: ReadonlySet<unknown>,
): string | undefined {
  const unknown = namesIn(settings).filter((name) => !known.has(name));
  if (unknown.length === 0) return undefined;
  const names = unknown.map((name) => JSON.stringify(name)).join(", ");
  return `The tool did not run, because only or except names unknown tools: ${names}.`;
}

/**
 * @param run starts the tool with the approved arguments, in the form that the framework proposed
 * @throws any error of `run`; SdkError `invalid_option` without a run id
 */
export function runCall<CallOrigin, T>(
  options: FrameworkOptions<CallOrigin>,
  proposal: Proposal,
  origin: CallOrigin,
  run: (approved: unknown) => T | Promise<T>,
): Promise<FrameworkResult<T>> {
  return runConverted(options, proposal, callOf(options, proposal, origin), run);
}

/** @param call the proposal as {@link callOf} converts it, see {@link runCall} */
export async function runConverted<CallOrigin, T>(
  options: FrameworkOptions<CallOrigin>,
  proposal: Proposal,
  call: KeyedCall,
  run: (approved: unknown) => T | Promise<T>,
): Promise<FrameworkResult<T>> {
  let hasStarted = false;
  try {
    const result = await options.approvals.run(call, (approved) => {
      hasStarted = true;
      return run(proposedOf(proposal, approved));
    });
    if (result.status === "executed") return { ran: true, value: result.value };
    return refuse(options, notRunOf(result), result);
  } catch (error) {
    // An error of the submission, not of the tool. An invalid proposal must not stop the run.
    const isOurs = !hasStarted && error instanceof SdkError && error.code === "invalid_call";
    if (!isOurs) throw error;
    const words = "This call cannot be submitted for approval, so it was not run:";
    const message = `${words} ${error.message}`;
    // The model cannot fix the tool, so notify the operator too.
    options.approvals.warn(`Tool ${JSON.stringify(call.tool)}: ${message}`);
    return refuse(options, { notRun: "not_submitted", message }, undefined, error);
  }
}

/** Submits the call. @returns undefined for a call that cannot be submitted */
export async function submitCall<CallOrigin>(
  options: FrameworkOptions<CallOrigin>,
  proposal: Proposal,
  origin: CallOrigin,
): Promise<Submitted | undefined> {
  const call = callOf(options, proposal, origin);
  return unlessInvalid(() => options.approvals.submit(call));
}

/** @returns undefined for an invalid call, because the call itself reports why */
export async function unlessInvalid<T>(read: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof SdkError && error.code === "invalid_call") return undefined;
    throw error;
  }
}

/** True for a call that stays suspended. During an outage it stays so, to be resumed later. */
export function isUndecided(
  submitted: Submitted | undefined,
): submitted is Suspended | Unavailable {
  return submitted?.status === "pending" || submitted?.status === "unavailable";
}

/** Reports a call that the framework itself refuses, after the provider refused it. */
export function reportNotRun<CallOrigin>(
  options: FrameworkOptions<CallOrigin>,
  result: NotExecuted,
): void {
  refuse(options, notRunOf(result), result);
}

/** The error for a tool that an adapter cannot gate. Without an error, the tool would run. */
export function cannotGate(tool: string, why: string): SdkError {
  return new SdkError("invalid_option", `Cannot gate tool ${tool}: ${why}`);
}

function notRunOf(result: NotExecuted | Suspended): NotRun {
  const { reason: notRun, requestId, messageForModel: message } = result;
  return requestId === undefined ? { notRun, message } : { notRun, message, requestId };
}

function refuse<CallOrigin>(
  options: FrameworkOptions<CallOrigin>,
  notRun: NotRun,
  result: NotExecuted | Suspended | undefined,
  error?: SdkError,
): { readonly ran: false; readonly notRun: NotRun } {
  const frozen = Object.freeze(notRun);
  options.onNotRun?.(frozen, result, error);
  return { ran: false, notRun: frozen };
}

/** @throws SdkError `invalid_option` without a run id */
export function callOf<CallOrigin>(
  options: FrameworkOptions<CallOrigin>,
  proposal: Proposal,
  origin: CallOrigin,
): KeyedCall {
  const { runtime, tool, server, callId, signal, mustWait } = proposal;
  const runId = typeof options.runId === "function" ? options.runId(origin) : options.runId;
  if (typeof runId !== "string" || runId === "") {
    throw new SdkError("invalid_option", "runId must name the run, with at least one character.");
  }
  const { context } = options;
  const more = typeof context === "function" ? context(origin) : context;
  return {
    idempotencyKey: `${keyPart(runId)}/${keyPart(callId)}`,
    tool,
    server,
    arguments: argumentsOf(proposal),
    reasoning: options.reasoning?.(origin) ?? proposal.reasoning,
    context: { ...more, ...proposal.context, runtime, session_id: runId, call_id: callId },
    timeout: options.timeout,
    wait: mustWait || undefined,
    signal,
  };
}

/** Encodes slashes, spaces and non-ASCII characters, so that two pairs never produce one key. */
function keyPart(id: string): string {
  return encodeURIComponent(id.toWellFormed());
}

/** Submits an input that is not an object, such as a text, as the only argument `input`. */
function argumentsOf({ arguments: args }: Proposal): object {
  if (args === undefined) return {};
  return isObject(args) ? args : { input: args };
}

function proposedOf({ arguments: args }: Proposal, approved: object): unknown {
  if (args === undefined) return undefined;
  return isObject(args) ? approved : (approved as { readonly input: unknown }).input;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Copies an object with its prototype. The original stays unchanged and has no gate. */
export function cloneWith<T extends object>(original: T, changes: object): T {
  const members = Object.getOwnPropertyDescriptors(original);
  const clone: T = Object.create(Object.getPrototypeOf(original), members);
  for (const [name, value] of Object.entries(changes)) {
    Object.defineProperty(clone, name, { value, writable: true, configurable: true });
  }
  return clone;
}
