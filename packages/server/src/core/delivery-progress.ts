/**
 * The progress of a delivery, as displayed to operators. A delivery that is over counts as ended
 * before the end is recorded.
 *
 * @see contract: Events, Delivery rules, 3 and 4
 */

import {
  isWindowOver,
  type NotificationEndCause,
  type StoredNotification,
} from "./notification.ts";
import { RETRY_WINDOW_MS } from "./retry.ts";

/** Times are epoch milliseconds. */
export type DeliveryProgress =
  | { readonly kind: "waiting"; readonly nextAt: number }
  /** An attempt is in flight. Without an outcome, the next one is due at `nextAt`. */
  | { readonly kind: "in_flight"; readonly nextAt: number }
  /** `at` is null until the end after a removal or deletion is recorded. */
  | { readonly kind: "ended"; readonly at: number | null; readonly by: NotificationEndCause };

/** End of its window, epoch ms. No attempt starts at or after it. */
export function deliveryWindowEnd({ createdAt }: Pick<StoredNotification, "createdAt">): number {
  return createdAt + RETRY_WINDOW_MS;
}

/** @param instance its current state */
export function progressOf(
  notification: StoredNotification,
  instance: { readonly deliveryEpoch: number; readonly isDeleted: boolean },
  now: number,
): DeliveryProgress {
  const { ended, nextAt, claimedUntil } = notification;
  if (ended !== null) return { kind: "ended", ...ended };
  if (nextAt === null) throw new Error("a notification waits for nothing and has not ended");
  if (notification.deliveryEpoch < instance.deliveryEpoch) {
    return { kind: "ended", at: null, by: instance.isDeleted ? "deletion" : "removal" };
  }
  if (claimedUntil !== null && claimedUntil > now) {
    return { kind: "in_flight", nextAt: claimedUntil };
  }
  if (isWindowOver(notification, now)) {
    return { kind: "ended", at: deliveryWindowEnd(notification), by: "window" };
  }
  return { kind: "waiting", nextAt };
}
