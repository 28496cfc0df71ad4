import { type AuditEntry, appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import {
  type AttemptOutcome,
  type NotificationEnd,
  outcomeStatus,
  outcomeText,
  type StoredNotification,
  settleAttempt,
} from "../../core/notification.ts";
import { toFraction } from "../../core/retry.ts";
import {
  type AfterAttempt,
  lockNotification,
  updateAttempt,
  updateLateAttempt,
} from "../../storage/sql/deliveries/notifications.ts";
import type { Transaction } from "../../storage/store.ts";
import type { ClaimedNotification } from "./claimNotifications.ts";

/** The result for the notification. */
export type RecordedAttempt =
  | { readonly kind: "ended"; readonly by: string }
  | { readonly kind: "retry"; readonly nextAt: number }
  /** Another replica has the lease, or the request was purged: nothing was recorded. */
  | { readonly kind: "stale" };

/**
 * Records the outcome of an attempt. A result with an outdated fence changes nothing. If the
 * delivery ended during the attempt, only the time of the attempt's end is recorded.
 *
 * @see contract: Events, Delivery rules, 3 to 5
 */
export async function recordAttempt(
  { store, random }: Pick<Context, "store" | "random">,
  claimed: ClaimedNotification,
  outcome: AttemptOutcome,
): Promise<RecordedAttempt> {
  const chance = toFraction(random.bytes(4));
  // If a power failure undoes this, the attempt is repeated; receivers deduplicate.
  return store.transact(async (tx) => {
    const now = await tx.now();
    // The lease excludes other replicas, but the delivery may have ended.
    let after = next(claimed.notification, outcome, now, chance);
    if (!(await updateAttempt(tx, claimed.notification, claimed.fence, after))) {
      const current = await lockNotification(tx, claimed.notification);
      if (current?.fence !== claimed.fence || current.claimedUntil === null) {
        return { kind: "stale" };
      }
      if (current.ended !== null) return recordLate(tx, claimed, current.ended, after, now);
      after = atNewReceiver(after, current, now);
      await updateAttempt(tx, current, claimed.fence, after);
    }
    if (after.ended !== null) {
      await appendAudit(tx, random, entryOf(claimed.notification, after, after.ended));
      return { kind: "ended", by: after.ended.by };
    }
    return { kind: "retry", nextAt: after.nextAt ?? now };
  }, "process");
}

function entryOf(
  { projectId, requestId, id }: StoredNotification,
  { attempts, last }: AfterAttempt,
  { at, by }: NonNullable<AfterAttempt["ended"]>,
): AuditEntry {
  return {
    at,
    projectId,
    kind: "delivery.ended",
    actor: "system:delivery",
    subject: `request:${requestId}`,
    detail: { delivery_id: id, by, attempts, http_status: last?.status ?? null },
  };
}

/** Removed or deleted during the attempt: the 24 hours of retention start now. */
async function recordLate(
  tx: Transaction,
  { notification }: ClaimedNotification,
  { by }: NotificationEnd,
  { attempts, last }: AfterAttempt,
  now: number,
): Promise<RecordedAttempt> {
  await updateLateAttempt(tx, notification, attempts, last, now);
  return { kind: "ended", by };
}

/**
 * The receiver was replaced during the attempt. The old receiver's `Retry-After` does not apply to
 * the new one.
 */
function atNewReceiver(
  after: AfterAttempt,
  { retriesFrom }: StoredNotification,
  now: number,
): AfterAttempt {
  if (after.ended !== null) return { ...after, retriesFrom };
  return { ...after, retriesFrom, nextAt: now, notBefore: null };
}

function next(
  current: StoredNotification,
  outcome: AttemptOutcome,
  now: number,
  chance: number,
): AfterAttempt {
  const isAttempt = outcome.kind !== "postponed";
  const attempts = current.attempts + (isAttempt ? 1 : 0);
  const text = { outcome: outcomeText(outcome), status: outcomeStatus(outcome) };
  const last = isAttempt ? { at: now, ...text } : current.last;
  const { retriesFrom } = current;
  const settlement = settleAttempt(current, outcome, now, chance);
  if (settlement.kind === "ended") {
    const ended = { at: now, by: settlement.by };
    return { nextAt: null, notBefore: null, attempts, retriesFrom, last, ended };
  }
  const waitMs = outcome.kind === "rejected" ? outcome.retryAfterMs : undefined;
  const notBefore = isAttempt ? (waitMs === undefined ? null : now + waitMs) : current.notBefore;
  const { nextAt } = settlement;
  return { nextAt, notBefore, attempts, retriesFrom, last, ended: null };
}
