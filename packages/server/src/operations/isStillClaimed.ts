import type { Context } from "../context.ts";
import { isClaimCurrent } from "../storage/sql/notifications.ts";
import type { ClaimedNotification } from "./claimNotifications.ts";

/**
 * Whether a claimed notification is still to be attempted: its delivery may have ended, or its
 * lease passed, while the attempt waited for its address.
 *
 * Called by: the delivery worker, right before a connection is opened.
 *
 * @see contract: Events, Delivery rules, 4
 */
export async function isStillClaimed(
  { store }: Pick<Context, "store">,
  { notification: { id }, fence }: ClaimedNotification,
): Promise<boolean> {
  return isClaimCurrent(store, id, fence);
}
