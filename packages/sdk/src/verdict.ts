/**
 * The verdicts of a gate, and their explanations for the model. Only `denied` means that the
 * provider reported a denial.
 */

import { SdkError } from "./errors.ts";

/** The call may start while {@link Approved.mayStart} returns true. */
export interface Approved<A extends object = object> {
  readonly kind: "approved";
  readonly permitted: true;
  readonly requestId: string;
  readonly tool: string;
  /** Exactly the approved arguments, deeply frozen. */
  readonly arguments: A;
  /** Note of the decision. */
  readonly note: string | undefined;
  /** Expiry of the approval, epoch ms. */
  readonly expiresAt: number;
  /** True for a predefined outcome: no reviewer was asked. */
  readonly isDevelopment: boolean;
  /**
   * True while the approval is valid. Check it right before the start. A started call may finish.
   */
  mayStart(): boolean;
}

/**
 * Why a call did not start:
 *
 * - `denied`, `expired`, `cancelled`: the outcome that the provider recorded
 * - `lapsed`: approved, but the approval expired before the call could start
 * - `already_used`: approved, but this key or this request was used before
 * - `not_recorded`: approved, but the store could not record the use
 * - `abandoned`: the caller aborted the signal
 * - `no_decision`: the gate received no valid decision; `error` contains the reason
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
  /** Explanation for the model. */
  readonly reason: string;
  /** Id of the approval request; undefined if unknown. */
  readonly requestId: string | undefined;
  /** Note of the decision. */
  readonly note: string | undefined;
  /** True for a predefined outcome: no reviewer was asked. */
  readonly isDevelopment: boolean;
  /** The underlying error, for the agent's operator. Do not show it to the model. */
  readonly error: unknown;
}

/**
 * The call waits for a decision. Plain data: store it as JSON by its `requestId`, which the
 * notification contains, and pass it to `gate.resume`.
 */
export interface Pending {
  readonly kind: "pending";
  readonly permitted: false;
  /** Explanation for the model. */
  readonly reason: string;
  /** True for a predefined outcome: no reviewer was asked. */
  readonly isDevelopment: boolean;
  /** Base URL of the provider that has the request. */
  readonly url: string;
  /** Idempotency key of the call. */
  readonly key: string;
  readonly requestId: string;
  readonly tool: string;
  /** The exact JSON text of the arguments. */
  readonly argumentsJson: string;
  /** True if the arguments were submitted as a JsonObject. */
  readonly isExact: boolean;
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
}

/** The gate's decision about a call. Only a gate of mode `async` returns `pending`. */
export type Verdict<A extends object = object> = Approved<A> | NotPermitted | Pending;

/** The result of a guarded call: its value if it ran, the verdict otherwise. */
export type Outcome<T, A extends object = object> =
  | { readonly ran: true; readonly value: T; readonly verdict: Approved<A> }
  | {
      readonly ran: false;
      /** Explanation for the model. */
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

/** Marks predefined outcomes in every explanation. */
const DEVELOPMENT = "[development: no reviewer was asked] ";

/**
 * @param note note of the decision
 * @param cause sentences about the failure
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

/** @throws SdkError `invalid_call` for a value that is not a Pending of a gate */
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
