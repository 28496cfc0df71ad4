/**
 * A tool call as a program makes it: its types, and the check that it can be submitted.
 */

import { readKey, readSubmission } from "./approval-client.ts";
import type { CountersignOptions } from "./countersign-options.ts";
import type { DecisionWindow } from "./duration.ts";
import { SdkError } from "./errors.ts";
import { assertKnownOptions } from "./known-options.ts";
import type { Approval, Pending, Result } from "./result.ts";
import { snapshot } from "./snapshot.ts";
import type { Attempt } from "./suspended-call.ts";

/** Options of one call. */
export interface CallOptions {
  /**
   * Identifies one attempt to run one call. Keep it after a crash or a retry of the agent, so that
   * the call does not run twice. Use a new key for every other attempt. Default: a random key.
   */
  readonly idempotencyKey?: string | undefined;
  /** The agent's own explanation. Reviewers see it as a claim of the agent. */
  readonly reasoning?: string | undefined;
  /** Facts about the runtime for reviewers and policies, such as the model. */
  readonly context?: object | undefined;
  /** Time that reviewers have to decide. Default: `timeout` of {@link CountersignOptions}. */
  readonly timeout?: DecisionWindow | undefined;
  /** False returns `pending` instead of waiting. Default: `wait` of {@link CountersignOptions}. */
  readonly wait?: boolean | undefined;
  /** Abandons the call: it does not start, and its request is cancelled. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Trace of the call, as the header `traceparent` (W3C Trace Context). Default: the active span of
   * the application, if it has OpenTelemetry. An invalid one is ignored.
   */
  readonly traceparent?: string | undefined;
}

/** A tool call. */
export interface ToolCall<A extends object = object> extends CallOptions {
  /** Name of the tool. */
  readonly tool: string;
  /**
   * The MCP server of the tool, as the agent names it. A provider that does not record servers
   * receives the tool `mcp__<server>__<tool>`, with both names in the context.
   */
  readonly server?: string | undefined;
  /** Arguments: a plain object of JSON values, or a JsonObject for exact JSON text. */
  readonly arguments: A;
}

/** Starts a tool with the approved arguments, a copy that it may change. */
export type ToolFunction<A extends object, T> = (
  approved: A,
  approval: Approval<A>,
) => T | Promise<T>;

/** A tool that runs after an approval. */
export interface ApprovedTool<A extends object, T> {
  /**
   * Submits a call of the tool, and runs it at most once if the provider approves it.
   *
   * @throws any error of the tool; SdkError `invalid_call` for a call that cannot be submitted
   */
  (input: A, options?: CallOptions): Promise<Result<T, A>>;
  /** Continues a suspended call of the tool. @see {@link Countersign.resume} */
  resume(pending: Pending<A>, options?: ResumeOptions): Promise<Result<T, A>>;
}

/** Options of {@link Countersign.resume}. */
export interface ResumeOptions {
  /**
   * True for a call with a JsonObject as arguments: the tool receives a JsonObject again. Default:
   * the tool receives plain values, and a JsonNumber for a number that a double cannot represent.
   */
  readonly exact?: boolean | undefined;
  /** Stops reading the request. It cancels nothing. */
  readonly signal?: AbortSignal | undefined;
}

/** The names of the options. */
export const CALL_OPTIONS = [
  "idempotencyKey",
  "reasoning",
  "context",
  "timeout",
  "wait",
  "signal",
  "traceparent",
] as const;

/**
 * @param defaultTimeout the time to decide of a call without its own
 * @throws SdkError `invalid_call` for a call that cannot be submitted
 */
export function readCall<A extends object>(
  call: ToolCall<A>,
  defaultTimeout: DecisionWindow,
): Attempt<A> {
  const known = ["tool", "server", "arguments", ...CALL_OPTIONS];
  assertKnownOptions("a call", call, known, "invalid_call");
  const { wait, signal, traceparent, timeout = defaultTimeout } = call;
  const { idempotencyKey = crypto.randomUUID() } = call;
  if (wait !== undefined && typeof wait !== "boolean") {
    throw new SdkError("invalid_call", "Invalid wait. Expected true or false.");
  }
  if (signal !== undefined && typeof signal.addEventListener !== "function") {
    throw new SdkError("invalid_call", "Invalid signal. Expected an AbortSignal.");
  }
  const taken = snapshot(call.arguments, "arguments");
  // The request contains the snapshot, so later changes to the original have no effect.
  const submission = readSubmission({ ...call, arguments: taken.json, timeout });
  return {
    idempotencyKey: readKey(idempotencyKey),
    submission,
    snapshot: taken,
    signal,
    traceparent,
  };
}
