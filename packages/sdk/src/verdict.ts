/**
 * What a gate says about a call, and in which words a model is told why not. The kinds are never
 * confused: only `denied` means that the provider said no.
 */

import { SdkError } from "./errors.ts";

/** The call may start, as long as {@link Approved.mayStart} says so. */
export interface Approved<A extends object = object> {
  readonly kind: "approved";
  readonly permitted: true;
  readonly requestId: string;
  readonly tool: string;
  /** Deeply frozen; what was approved and nothing else. */
  readonly arguments: A;
  readonly note: string | undefined;
  /** Epoch ms. */
  readonly expiresAt: number;
  /** True: a predefined outcome; no reviewer was asked. */
  readonly isDevelopment: boolean;
  /** Ask right before the call starts; once it has started, it may take as long as it takes. */
  mayStart(): boolean;
}

/**
 * - `denied`, `expired`, `cancelled`: what the provider recorded
 * - `lapsed`: approved, and the approval ended before the call could start
 * - `already_used`: approved, and used before, by this key or this request
 * - `not_recorded`: approved, and the store could not record its use
 * - `abandoned`: the caller's signal was aborted
 * - `no_decision`: nothing that can be believed was obtained; `error` says why
 */
export type RefusalKind =
  | "denied"
  | "expired"
  | "cancelled"
  | "lapsed"
  | "already_used"
  | "not_recorded"
  | "abandoned"
  | "no_decision";

/** The call does not start. */
export interface NotPermitted {
  readonly kind: RefusalKind;
  readonly permitted: false;
  /** Words for the model. */
  readonly reason: string;
  /** Undefined when no request became known. */
  readonly requestId: string | undefined;
  readonly note: string | undefined;
  readonly isDevelopment: boolean;
  /** For the operator of the agent, not for the model. */
  readonly error: unknown;
}

/**
 * The call waits for a decision. Plain data: keep it as JSON, next to the request id that a
 * notification will name, and give it to `gate.resume`.
 */
export interface Pending {
  readonly kind: "pending";
  readonly permitted: false;
  /** Words for the model. */
  readonly reason: string;
  readonly isDevelopment: boolean;
  /** Of the provider that has it. */
  readonly url: string;
  readonly key: string;
  readonly requestId: string;
  readonly tool: string;
  /** Exact. */
  readonly argumentsJson: string;
  /** The arguments were submitted as a JsonObject. */
  readonly isExact: boolean;
  readonly timeout: string;
  readonly reasoning?: string;
  /** Exact. */
  readonly contextJson?: string;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Epoch ms. */
  readonly deadlineAt: number;
}

/** `pending` comes from a gate of mode `async` alone. */
export type Verdict<A extends object = object> = Approved<A> | NotPermitted | Pending;

/** What became of a guarded call. */
export type Outcome<T, A extends object = object> =
  | { readonly ran: true; readonly value: T; readonly verdict: Approved<A> }
  | {
      readonly ran: false;
      /** Words for the model. */
      readonly reason: string;
      readonly verdict: NotPermitted | Pending;
    };

const WORDS: Readonly<Record<RefusalKind | "pending", string>> = {
  denied: "This call was denied.",
  expired: "No reviewer decided about this call in time, so it did not run. This is not a denial.",
  cancelled: "The approval request of this call was cancelled, so it did not run.",
  lapsed:
    "This call was approved, but the approval ended before the call could start, so it was not " +
    "run. Another attempt needs a new approval.",
  already_used: "This call was approved and started once before. It was not run again.",
  not_recorded:
    "This call was approved, but the use of the approval could not be recorded, so it was not run.",
  abandoned: "This call was abandoned before it started, so it was not run.",
  no_decision: "No decision was received for this call, so it did not run. This is not a denial.",
  pending: "This call waits for approval. It has not run.",
};

/** Canned outcomes say so wherever they are read. */
const DEVELOPMENT = "[development: no reviewer was asked] ";

/**
 * @param note what the decider adds, in the provider's words
 * @param cause sentences that say what failed
 */
export function wordsFor(
  kind: RefusalKind | "pending",
  isDevelopment: boolean,
  { note, cause }: { readonly note?: string | undefined; readonly cause?: string | undefined } = {},
): string {
  const prefix = isDevelopment ? DEVELOPMENT : "";
  const suffix = cause === undefined ? "" : ` ${cause}`;
  if (!note) return prefix + WORDS[kind] + suffix;
  if (kind === "denied") return `${prefix}This call was denied: ${note}`;
  return `${prefix}${WORDS[kind]}${suffix} Note: ${note}`;
}

/** @throws SdkError `invalid_call` when it is not what a gate has returned */
export function readPending(value: unknown): Pending {
  const pending = Object(value) as Partial<Record<keyof Pending, unknown>>;
  const texts = ["url", "key", "requestId", "tool", "argumentsJson", "timeout", "reason"] as const;
  const optional = ["reasoning", "contextJson"] as const;
  const times = ["createdAt", "deadlineAt"] as const;
  const flags = ["isExact", "isDevelopment"] as const;
  const isWhole =
    pending.kind === "pending" &&
    texts.every((name) => typeof pending[name] === "string") &&
    optional.every((name) => ["string", "undefined"].includes(typeof pending[name])) &&
    times.every((name) => Number.isSafeInteger(pending[name])) &&
    flags.every((name) => typeof pending[name] === "boolean");
  if (isWhole) return value as Pending;
  throw new SdkError(
    "invalid_call",
    "Not a valid Pending. Store the object exactly as the gate returned it.",
  );
}
