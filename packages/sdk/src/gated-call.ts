/**
 * Shared code of the framework adapters. Converts a tool call that a model proposed to a call of
 * the gate, and a verdict of the gate to the value that the model receives in place of a result.
 *
 * Promises: the tool starts with exactly the approved arguments, frozen; a refusal is a value,
 * never an exception; the same run id and call id produce the same key on every machine.
 */

import { SdkError } from "./errors.ts";
import type { Call, Gate } from "./gate.ts";
import type { NotPermitted, Pending, RefusalKind } from "./verdict.ts";

/** Options of every adapter. `CallOrigin` is the framework's information about a tool call. */
export interface Gating<CallOrigin> {
  /** The gate that submits the calls. */
  readonly gate: Gate;
  /**
   * Id of the run. The key of a call consists of this id and the model's call id. Use the same id
   * when a run is resumed or restarted after a crash, so that the gate finds its calls again.
   */
  readonly runId: string | ((origin: CallOrigin) => string);
  /** More facts for reviewers and policies, such as the model or the user of the agent. */
  readonly context?: object | ((origin: CallOrigin) => object);
  /** Returns the agent's own explanation, for frameworks that do not provide it. */
  readonly reasoning?: (origin: CallOrigin) => string | undefined;
  /** Time that reviewers have to decide, such as `10m`. Default: `timeout` of the gate. */
  readonly timeout?: string;
  /**
   * Called for every call that did not run, with the error if it is `not_submitted`. The framework
   * receives any exception that it throws.
   */
  readonly onNotRun?: (
    notRun: NotRun,
    verdict: NotPermitted | Pending | undefined,
    error?: SdkError,
  ) => void;
}

/** The value that the model and the program receive in place of a result if a call did not run. */
export interface NotRun {
  /** Why the call did not run. `not_submitted`: its arguments or ids cannot be submitted. */
  readonly notRun: RefusalKind | "pending" | "not_submitted";
  /** Explanation for the model. */
  readonly reason: string;
  /** Id of the approval request, if the call was submitted. */
  readonly requestId?: string;
}

/** A call as a framework proposes it. */
export interface Proposal {
  /** Name of the adapter, such as `ai`. */
  readonly runtime: string;
  readonly tool: string;
  /** Id of the call from the model. */
  readonly callId: string;
  readonly arguments: unknown;
  readonly reasoning?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export type GatedOutcome<T> =
  | { readonly ran: true; readonly value: T }
  | { readonly ran: false; readonly notRun: NotRun };

/** True if a tool's output is a {@link NotRun}, also after it was serialized as JSON. */
export function isNotRun(output: unknown): output is NotRun {
  const { notRun, reason } = Object(output) as Partial<Record<keyof NotRun, unknown>>;
  return typeof notRun === "string" && typeof reason === "string";
}

/**
 * @param run starts the tool with the approved arguments, in the form that the framework proposed
 * @throws any error of `run`; SdkError `invalid_option` without a run id
 */
export async function runGated<CallOrigin, T>(
  gating: Gating<CallOrigin>,
  proposal: Proposal,
  origin: CallOrigin,
  run: (approved: unknown) => T | Promise<T>,
): Promise<GatedOutcome<T>> {
  let hasStarted = false;
  const call = callOf(gating, proposal, origin);
  try {
    const outcome = await gating.gate.guard(call, (approved) => {
      hasStarted = true;
      return run(proposedOf(proposal, approved));
    });
    if (outcome.ran) return { ran: true, value: outcome.value };
    const { kind, requestId } = outcome.verdict;
    const about = requestId === undefined ? {} : { requestId };
    return refuse(gating, { notRun: kind, reason: outcome.reason, ...about }, outcome.verdict);
  } catch (error) {
    // An error of the gate, not of the tool. A model's invalid proposal must not stop the run.
    const isOfGate = !hasStarted && error instanceof SdkError && error.code === "invalid_call";
    if (!isOfGate) throw error;
    const words = "This call cannot be submitted for approval, so it was not run:";
    const reason = `${words} ${error.message}`;
    // The model cannot fix the tool, so notify the operator too.
    gating.gate.warn(`Tool ${JSON.stringify(call.tool)}: ${reason}`);
    return refuse(gating, { notRun: "not_submitted", reason }, undefined, error);
  }
}

/** Submits the call. @returns undefined if it is not pending (see `Gate.submit`) or is invalid */
export async function isWaiting<CallOrigin>(
  gating: Gating<CallOrigin>,
  proposal: Proposal,
  origin: CallOrigin,
): Promise<Pending | undefined> {
  const call = callOf(gating, proposal, origin);
  try {
    return await gating.gate.submit(call);
  } catch (error) {
    // The call itself reports why.
    if (error instanceof SdkError && error.code === "invalid_call") return undefined;
    throw error;
  }
}

/** The error for a tool that an adapter cannot gate. Without an error, the tool would run. */
export function cannotGate(tool: string, why: string): SdkError {
  return new SdkError("invalid_option", `Cannot gate tool ${tool}: ${why}`);
}

function refuse<CallOrigin>(
  gating: Gating<CallOrigin>,
  notRun: NotRun,
  verdict: NotPermitted | Pending | undefined,
  error?: SdkError,
): { readonly ran: false; readonly notRun: NotRun } {
  const frozen = Object.freeze(notRun);
  gating.onNotRun?.(frozen, verdict, error);
  return { ran: false, notRun: frozen };
}

/** @throws SdkError `invalid_option` without a run id */
export function callOf<CallOrigin>(
  gating: Gating<CallOrigin>,
  proposal: Proposal,
  origin: CallOrigin,
): Call {
  const { runtime, tool, callId, signal } = proposal;
  const runId = typeof gating.runId === "function" ? gating.runId(origin) : gating.runId;
  if (typeof runId !== "string" || runId === "") {
    throw new SdkError("invalid_option", "runId must name the run, with at least one character.");
  }
  const { context } = gating;
  const more = typeof context === "function" ? context(origin) : context;
  return {
    key: `${keyPart(runId)}/${keyPart(callId)}`,
    tool,
    arguments: argumentsOf(proposal),
    reasoning: gating.reasoning?.(origin) ?? proposal.reasoning,
    context: { ...more, runtime, session_id: runId, call_id: callId },
    timeout: gating.timeout,
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
