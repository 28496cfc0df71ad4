/**
 * The results of a call, and their messages for the model. Only `denied` means that the provider
 * reported a denial.
 */

import { SdkError } from "./errors.ts";

/** The call ran. */
export interface Executed<T> {
  /** The call ran. */
  readonly status: "executed";
  /** Same as `status`. */
  readonly reason: "executed";
  /** The result of the tool. */
  readonly value: T;
  /** Id of the approval request. */
  readonly requestId: string;
  /** Note of the decision. */
  readonly note: string | undefined;
  /** Page of the request for reviewers; undefined if the provider has none. */
  readonly reviewUrl: string | undefined;
  /** True for a predefined outcome: no reviewer was asked. */
  readonly isDevelopment: boolean;
}

/** Members of every {@link NotExecuted}. */
export interface NotExecutedDetails {
  /** Explanation for the model. */
  readonly messageForModel: string;
  /** Id of the approval request; undefined if unknown. */
  readonly requestId: string | undefined;
  /** Note of the decision. */
  readonly note: string | undefined;
  /** Page of the request for reviewers; undefined if unknown. */
  readonly reviewUrl: string | undefined;
  /** True for a predefined outcome: no reviewer was asked. */
  readonly isDevelopment: boolean;
  /** The underlying error, for the agent's operator. Do not show it to the model. */
  readonly error: unknown;
}

/** A reviewer or a rule denied the call. */
export interface Denied extends NotExecutedDetails {
  /** A reviewer or a rule denied the call. */
  readonly status: "denied";
  /** Same as `status`. */
  readonly reason: "denied";
}

/** The time to decide or to use the approval is over. */
export interface Expired extends NotExecutedDetails {
  /** Too late: `reason` contains the exact cause. */
  readonly status: "expired";
  /** `lapsed`: approved, but the approval expired before the call could start. */
  readonly reason: "expired" | "lapsed";
}

/** The request was cancelled, or the caller aborted the call. */
export interface Cancelled extends NotExecutedDetails {
  /** Cancelled: `reason` contains the exact cause. */
  readonly status: "cancelled";
  /** `abandoned`: the caller aborted the signal. */
  readonly reason: "cancelled" | "abandoned";
}

/** There is no usable approval. */
export interface Unavailable extends NotExecutedDetails {
  /** No usable approval: `reason` contains the exact cause. */
  readonly status: "unavailable";
  /**
   * - `no_decision`: no valid decision was received; `error` contains the cause
   * - `not_recorded`: approved, but the use of the approval could not be recorded
   * - `already_used`: approved, but this key or this request was used before; the call may have run
   * - `frozen`: approved, but an operator froze the calls of this agent
   */
  readonly reason: "no_decision" | "not_recorded" | "already_used" | "frozen";
}

/** The call did not run, and this result is final. */
export type NotExecuted = Denied | Expired | Cancelled | Unavailable;

/** Why a call did not run. */
export type NotExecutedReason = NotExecuted["reason"];

/** The call waits for a decision. Store `pending` and pass it to `resume` later. */
export interface Suspended<A extends object = object> {
  /** The request has no decision yet. */
  readonly status: "pending";
  /** Same as `status`. */
  readonly reason: "pending";
  /** Explanation for the model. */
  readonly messageForModel: string;
  /** The call as plain data, for `resume`. */
  readonly pending: Pending<A>;
  /** Id of the approval request. */
  readonly requestId: string;
  /** Page of the request for reviewers; undefined if the provider has none. */
  readonly reviewUrl: string | undefined;
  /** End of the time to decide, epoch ms. */
  readonly deadlineAt: number;
  /** True for a predefined outcome: no reviewer was asked. */
  readonly isDevelopment: boolean;
}

/** The result of a call: executed, pending, or the reason why it did not run. */
export type Result<T, A extends object = object> = Executed<T> | NotExecuted | Suspended<A>;

/** The call may start while {@link Approval.mayStart} returns true. */
export interface Approval<A extends object = object> {
  /** The provider approved the call. */
  readonly status: "approved";
  /** Id of the approval request. */
  readonly requestId: string;
  /** Key of the call, generated if the call had none. */
  readonly idempotencyKey: string;
  /** Name of the tool. */
  readonly tool: string;
  /** Exactly the approved arguments: a copy that the tool may change. */
  readonly arguments: A;
  /** Note of the decision. */
  readonly note: string | undefined;
  /** Page of the request for reviewers; undefined if the provider has none. */
  readonly reviewUrl: string | undefined;
  /** Expiry of the approval, epoch ms. */
  readonly expiresAt: number;
  /** True for a predefined outcome: no reviewer was asked. */
  readonly isDevelopment: boolean;
  /**
   * True while the approval is valid. Check it right before the start. A started call may finish.
   */
  mayStart(): boolean;
}

/** The provider's decision about a call that does not run here. */
export type Verdict<A extends object = object> = Approval<A> | NotExecuted | Suspended<A>;

/** The state of a submitted call. `approved` uses no approval: run the call with the same key. */
export type Submitted<A extends object = object> =
  | { readonly status: "approved"; readonly requestId: string }
  | NotExecuted
  | Suspended<A>;

/** Name of a member that exists only for the compiler. */
declare const ARGUMENTS: unique symbol;

/**
 * A submitted call as plain data. Store it as JSON by its `requestId`, which the webhook contains.
 *
 * `A` is the type of the arguments, for the compiler only.
 */
export interface Pending<A extends object = object> {
  /** Base URL of the provider that has the request. */
  readonly url: string;
  /** Key of the call, generated if the call had none. */
  readonly idempotencyKey: string;
  /** Id of the approval request. */
  readonly requestId: string;
  /** Name of the tool. */
  readonly tool: string;
  /** The MCP server of the tool. */
  readonly server?: string;
  /** The exact JSON text of the arguments. */
  readonly argumentsJson: string;
  /** Time that reviewers have to decide, such as `10m`. */
  readonly timeout: string;
  /** The agent's own explanation. */
  readonly reasoning?: string;
  /** The exact JSON text of the context. */
  readonly contextJson?: string;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Epoch ms. */
  readonly deadlineAt: number;
  /** Never set: carries the type of the arguments. */
  readonly [ARGUMENTS]?: A;
}

/** The status of each reason. */
export const STATUS_OF: Readonly<Record<NotExecutedReason, NotExecuted["status"]>> = {
  denied: "denied",
  expired: "expired",
  lapsed: "expired",
  cancelled: "cancelled",
  abandoned: "cancelled",
  no_decision: "unavailable",
  not_recorded: "unavailable",
  already_used: "unavailable",
  frozen: "unavailable",
};

const MESSAGES: Readonly<Record<NotExecutedReason | "pending", string>> = {
  denied: "This call was denied.",
  expired: "No reviewer decided about this call in time, so it did not run. This is not a denial.",
  cancelled: "The approval request of this call was cancelled, so it did not run.",
  lapsed:
    "The approval of this call has expired, so the call was not run now. Check whether an " +
    "earlier attempt took effect. Another attempt needs a new approval.",
  already_used:
    "The approval of this call was used before, so the call was not run again. Check whether it " +
    "took effect.",
  not_recorded:
    "This call was approved, but the use of the approval could not be recorded, so it was not run.",
  frozen:
    "This call was approved, but an operator froze the calls of this agent, so it was not run.",
  abandoned: "This call was abandoned before it started, so it was not run.",
  no_decision: "No decision was received for this call, so it did not run. This is not a denial.",
  pending: "This call waits for approval. It has not run.",
};

/** Marks predefined outcomes in every explanation. */
const DEVELOPMENT = "[development: no reviewer was asked] ";

/** Details for {@link messageFor}. */
export interface MessageDetail {
  /** Note of the decision. */
  readonly note?: string | undefined;
  /** Sentences about the failure. */
  readonly cause?: string | undefined;
}

/** @returns the explanation for the model */
export function messageFor(
  reason: NotExecutedReason | "pending",
  isDevelopment: boolean,
  { note, cause }: MessageDetail = {},
): string {
  const prefix = isDevelopment ? DEVELOPMENT : "";
  const suffix = cause === undefined ? "" : ` ${cause}`;
  if (!note) return prefix + MESSAGES[reason] + suffix;
  if (reason === "denied") return `${prefix}This call was denied: ${note}`;
  return `${prefix}${MESSAGES[reason]}${suffix} Note: ${note}`;
}

/** @throws SdkError `invalid_call` for a value that is not a Pending */
export function readPending(value: unknown): Pending {
  const pending = Object(value) as Partial<Record<keyof Pending, unknown>>;
  const texts = ["url", "idempotencyKey", "requestId", "tool", "argumentsJson", "timeout"] as const;
  const optional = ["server", "reasoning", "contextJson"] as const;
  const times = ["createdAt", "deadlineAt"] as const;
  const isWhole =
    texts.every((name) => typeof pending[name] === "string") &&
    optional.every((name) => ["string", "undefined"].includes(typeof pending[name])) &&
    times.every((name) => Number.isSafeInteger(pending[name]));
  if (isWhole) return value as Pending;
  throw new SdkError(
    "invalid_call",
    "Not a valid Pending. Store the member `pending` of the result unchanged.",
  );
}
