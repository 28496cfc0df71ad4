import type { Context } from "../context.ts";
import {
  type AttemptOutcome,
  outcomeStatus,
  outcomeText,
  type StoredNotification,
  settle,
} from "../core/notification.ts";
import {
  type AfterAttempt,
  lockNotification,
  updateAttempt,
} from "../storage/sql/notifications.ts";
import type { ClaimedNotification } from "./claimNotifications.ts";

/** What became of the notification. */
export type Recorded =
  | { readonly kind: "ended"; readonly by: string }
  | { readonly kind: "retry"; readonly nextAt: number }
  /** The lease had passed to somebody else, or the request was erased: nothing was recorded. */
  | { readonly kind: "stale" };

/**
 * Records how an attempt went. A late result, under a fence that has passed, changes nothing; the
 * result of an attempt whose delivery was ended meanwhile only says when it was over.
 *
 * Called by: the delivery worker.
 *
 * @see contract: Events, Delivery rules, 3 to 5
 */
export async function recordAttempt(
  { store, random }: Pick<Context, "store" | "random">,
  { notification: { id }, fence }: ClaimedNotification,
  outcome: AttemptOutcome,
): Promise<Recorded> {
  const chance = toFraction(random.bytes(4));
  // Undone by a loss of power, the attempt is made again: receivers deduplicate.
  return store.transact(async (tx) => {
    const current = await lockNotification(tx, id);
    if (current === undefined || current.fence !== fence || current.claimedUntil === null) {
      return { kind: "stale" };
    }
    const now = await tx.now();
    const after = next(current, outcome, now, chance);
    await updateAttempt(tx, id, after);
    if (after.ended !== null) return { kind: "ended", by: after.ended.by };
    return { kind: "retry", nextAt: after.nextAt ?? now };
  }, "process");
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
  if (current.ended !== null) {
    // Removed or deleted while this was outstanding: the 24 hours of retention start now.
    const ended = { ...current.ended, at: now };
    return { nextAt: null, notBefore: null, attempts, last, ended };
  }
  const settlement = settle(current, outcome, now, chance);
  if (settlement.kind === "ended") {
    const ended = { at: now, by: settlement.by };
    return { nextAt: null, notBefore: null, attempts, last, ended };
  }
  const wishMs = outcome.kind === "rejected" ? outcome.retryAfterMs : undefined;
  const notBefore = isAttempt ? (wishMs === undefined ? null : now + wishMs) : current.notBefore;
  return { nextAt: settlement.nextAt, notBefore, attempts, last, ended: null };
}

function toFraction(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(0) / 2 ** 32;
}
