/**
 * What the adapters of agent frameworks share: from a tool call that a model proposed to a call of
 * the gate, and from what the gate says to what the model is given in place of a result.
 *
 * Promises: the tool starts with the very arguments that were approved, frozen; a refusal is a
 * value, never an exception; the same run and call id make the same key, on any machine.
 */

import { SdkError } from "./errors.ts";
import type { Call, Gate } from "./gate.ts";
import type { NotPermitted, Pending, RefusalKind } from "./verdict.ts";

/** Options of every adapter. `CallOrigin` is what its framework knows when a tool is called. */
export interface Gating<CallOrigin> {
  readonly gate: Gate;
  /**
   * Names the run, and with the id that the model gave a call it makes the key: a run that is
   * resumed, or started again after a crash, has to have the same one to find its calls again.
   */
  readonly runId: string | ((origin: CallOrigin) => string);
  /** What else reviewers and policies should know, like the model or the user it works for. */
  readonly context?: object | ((origin: CallOrigin) => object);
  /** The agent's own explanation, where the framework does not hand it over. */
  readonly reasoning?: (origin: CallOrigin) => string | undefined;
  /** The window for a decision, like `10m`; that of the gate without it. */
  readonly timeout?: string;
  /**
   * Called for every call that was not run, with the error for `not_submitted`. What it throws goes
   * to the framework.
   */
  readonly onNotRun?: (
    notRun: NotRun,
    verdict: NotPermitted | Pending | undefined,
    error?: SdkError,
  ) => void;
}

/** Given to the model, and to the program, in place of the result of a call that was not run. */
export interface NotRun {
  /** `not_submitted`: the arguments, or the ids, are none that can be submitted. */
  readonly notRun: RefusalKind | "pending" | "not_submitted";
  /** Words for the model. */
  readonly reason: string;
  readonly requestId?: string;
}

/** A call as a framework proposes it. */
export interface Proposal {
  /** Of the adapter, like `ai`. */
  readonly runtime: string;
  readonly tool: string;
  /** That the model gave it. */
  readonly callId: string;
  readonly arguments: unknown;
  readonly reasoning?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export type GatedOutcome<T> =
  | { readonly ran: true; readonly value: T }
  | { readonly ran: false; readonly notRun: NotRun };

/** True for what stands in place of a result, also after it was kept as JSON. */
export function isNotRun(output: unknown): output is NotRun {
  const { notRun, reason } = Object(output) as Partial<Record<keyof NotRun, unknown>>;
  return typeof notRun === "string" && typeof reason === "string";
}

/**
 * @param run starts the tool, with what the framework was about to give it
 * @throws what `run` throws; SdkError `invalid_option` when there is no id for the run
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
    // Of the gate, and not of the tool: whatever a model proposes ends no run.
    const isOfGate = !hasStarted && error instanceof SdkError && error.code === "invalid_call";
    if (!isOfGate) throw error;
    const words = "This call cannot be submitted for approval, so it was not run:";
    const reason = `${words} ${error.message}`;
    // The model reads this, and cannot change the tool.
    gating.gate.warn(`Tool ${JSON.stringify(call.tool)}: ${reason}`);
    return refuse(gating, { notRun: "not_submitted", reason }, undefined, error);
  }
}

/** Submits the call. @returns whether it waits: see `Gate.submit`; false for an invalid call */
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

/** For those who cannot gate a tool: silence would let it run. */
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

/** @throws SdkError `invalid_option` when there is no id for the run */
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

/** Without slashes, spaces and what is not ASCII, so that no two pairs make one key. */
function keyPart(id: string): string {
  return encodeURIComponent(id.toWellFormed());
}

/** Tools that take no object, but a text say, are submitted with it as their only argument. */
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

/** A copy of its own kind: the original is unchanged, without a gate. */
export function cloneWith<T extends object>(original: T, changes: object): T {
  const members = Object.getOwnPropertyDescriptors(original);
  const clone: T = Object.create(Object.getPrototypeOf(original), members);
  for (const [name, value] of Object.entries(changes)) {
    Object.defineProperty(clone, name, { value, writable: true, configurable: true });
  }
  return clone;
}
