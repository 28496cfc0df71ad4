/**
 * The life of a notification as pure functions: written with its decision, attempted until a 2xx,
 * removal, deletion or the end of its window, its bytes never changed.
 *
 * Promises I5 (retries until one of the four ends) and I9 (identical id and body) are decided here.
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
  /** Of the instance when it was written; behind the instance's own, delivery has ended. */
  readonly deliveryEpoch: number;
  /** What every attempt carries, byte for byte. */
  readonly body: string;
  /** `decided_at` of the decision: the window counts from here. */
  readonly createdAt: number;
  /** Null exactly when delivery has ended. */
  readonly nextAt: number | null;
  /** From `Retry-After` of the receiver; a retry by an operator does not come earlier either. */
  readonly notBefore: number | null;
  /** End of the lease of the outstanding attempt. */
  readonly claimedUntil: number | null;
  readonly fence: number;
  /** Completed ones. */
  readonly attempts: number;
  /** Attempts at receivers before the current one, which its backoff does not count. */
  readonly retriesFrom: number;
  readonly last: Attempt | null;
  readonly ended: NotificationEnd | null;
}

/** A completed attempt. */
export interface Attempt {
  readonly at: number;
  readonly outcome: string;
  /** Of the answer, if there was one. */
  readonly status: number | null;
}

export interface NotificationEnd {
  readonly at: number;
  readonly by: NotificationEndCause;
}

export type NotificationEndCause = "acknowledged" | "window" | "removal" | "deletion";

/** How one attempt went. */
export type AttemptOutcome =
  /** Any 2xx: durably received. */
  | { readonly kind: "acknowledged"; readonly status: number }
  | {
      readonly kind: "rejected";
      readonly status: number;
      /** The receiver's wish, ms from now; only with 429 and 503. */
      readonly retryAfterMs: number | undefined;
    }
  /** The receiver's address is not public; nothing was sent. */
  | { readonly kind: "refused" }
  | { readonly kind: "unreachable"; readonly reason: string }
  /** Nothing was sent, for a reason of ours: no attempt, and it does not count as one. */
  | { readonly kind: "postponed"; readonly delayMs: number };

/** What to record after an attempt. */
export type Settlement =
  | { readonly kind: "ended"; readonly by: "acknowledged" | "window" }
  | { readonly kind: "retry"; readonly nextAt: number };

/** The bytes of the event: exactly the contract's fields, no decision, arguments or credential. */
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

/** Whether nothing may be attempted any more because the window has passed. */
export function isWindowOver(notification: StoredNotification, now: number): boolean {
  return now >= notification.createdAt + RETRY_WINDOW_MS;
}

/**
 * @param now epoch ms at which the attempt ended
 * @param chance even in [0, 1)
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

/** An outcome as it is stored and shown: `rejected`, `unreachable:tls`. */
export function outcomeText(outcome: AttemptOutcome): string {
  return outcome.kind === "unreachable" ? `unreachable:${outcome.reason}` : outcome.kind;
}

export function outcomeStatus(outcome: AttemptOutcome): number | null {
  return "status" in outcome ? outcome.status : null;
}
