/**
 * The states of a notification as pure functions. It is written with its decision, attempted until
 * a 2xx, removal, deletion or the end of its window, and its bytes never change.
 *
 * Guarantees promises I5 (retries until one of these four events) and I9 (identical id and body).
 *
 * @see contract: Events, request.resolved
 */

import { formatTimestamp } from "@countersign/protocol";
import { nextAttemptAt, RETRY_WINDOW_MS } from "./retry.ts";

/** A notification as it is stored. Times are epoch milliseconds. */
export interface StoredNotification {
  readonly id: string;
  readonly requestId: string;
  readonly instanceId: string;
  readonly projectId: string;
  /**
   * Delivery epoch of the instance at the creation. When the instance has a later one, delivery has
   * ended.
   */
  readonly deliveryEpoch: number;
  /** The body of every attempt, byte for byte. */
  readonly body: string;
  /** `decided_at` of the decision, the start of the window. */
  readonly createdAt: number;
  /** Null exactly when delivery has ended. */
  readonly nextAt: number | null;
  /** From the receiver's `Retry-After`. A retry by an operator does not start earlier either. */
  readonly notBefore: number | null;
  /** End of the lease of the outstanding attempt. */
  readonly claimedUntil: number | null;
  readonly fence: number;
  /** Number of completed attempts. */
  readonly attempts: number;
  /** Attempts at earlier receivers. The backoff does not count them. */
  readonly retriesFrom: number;
  readonly last: Attempt | null;
  readonly ended: NotificationEnd | null;
}

/** A completed attempt. */
export interface Attempt {
  readonly at: number;
  readonly outcome: string;
  /** HTTP status; null without an answer. */
  readonly status: number | null;
}

export interface NotificationEnd {
  readonly at: number;
  readonly by: NotificationEndCause;
}

export type NotificationEndCause = "acknowledged" | "window" | "removal" | "deletion";

/** The result of one attempt. */
export type AttemptOutcome =
  /** Any 2xx: the receiver stored it. */
  | { readonly kind: "acknowledged"; readonly status: number }
  | {
      readonly kind: "rejected";
      readonly status: number;
      /** `Retry-After` of the receiver, ms from now; only with 429 and 503. */
      readonly retryAfterMs: number | undefined;
    }
  /** The receiver's address is not public; nothing was sent. */
  | { readonly kind: "refused" }
  | { readonly kind: "unreachable"; readonly reason: string }
  /** Nothing was sent because of this server. Not counted as an attempt. */
  | { readonly kind: "postponed"; readonly delayMs: number };

/** The state to record after an attempt. */
export type Settlement =
  | { readonly kind: "ended"; readonly by: "acknowledged" | "window" }
  | { readonly kind: "retry"; readonly nextAt: number };

/**
 * The body of the event: exactly the contract's fields, without a decision, arguments or
 * credential.
 */
export function writeEvent(event: {
  readonly id: string;
  readonly instanceId: string;
  readonly requestId: string;
  readonly decidedAt: number;
}): string {
  return JSON.stringify({
    id: event.id,
    type: "request.resolved",
    instance_id: event.instanceId,
    request_id: event.requestId,
    created_at: formatTimestamp(event.decidedAt),
  });
}

/** True when the window is over: no further attempt may start. */
export function isWindowOver(notification: StoredNotification, now: number): boolean {
  return now >= notification.createdAt + RETRY_WINDOW_MS;
}

/**
 * @param now epoch ms of the end of the attempt
 * @param chance uniform in [0, 1)
 * @see contract: Events, Delivery rules, 3
 */
export function settleAttempt(
  notification: StoredNotification,
  outcome: AttemptOutcome,
  now: number,
  chance: number,
): Settlement {
  if (outcome.kind === "acknowledged") return { kind: "ended", by: "acknowledged" };
  const windowEnd = notification.createdAt + RETRY_WINDOW_MS;
  const nextAt =
    outcome.kind === "postponed"
      ? Math.min(now + outcome.delayMs, windowEnd)
      : nextAttemptAt({
          attempts: Math.max(1, notification.attempts + 1 - notification.retriesFrom),
          decidedAt: notification.createdAt,
          now,
          retryAfterMs: outcome.kind === "rejected" ? outcome.retryAfterMs : undefined,
          chance,
        });
  return nextAt >= windowEnd && now >= windowEnd
    ? { kind: "ended", by: "window" }
    : { kind: "retry", nextAt };
}

/** An outcome as stored and displayed: `rejected`, `unreachable:tls`. */
export function outcomeText(outcome: AttemptOutcome): string {
  return outcome.kind === "unreachable" ? `unreachable:${outcome.reason}` : outcome.kind;
}

export function outcomeStatus(outcome: AttemptOutcome): number | null {
  return "status" in outcome ? outcome.status : null;
}
