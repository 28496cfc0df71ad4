import type { Context } from "../../context.ts";
import { isClaimCurrent } from "../../storage/sql/deliveries/notifications.ts";
import type { Reader } from "../../storage/store.ts";
import type { ClaimedNotification } from "./claimNotifications.ts";

/**
 * Whether a claimed notification is still to be attempted: its delivery may have ended while the
 * attempt waited for its address, or its lease passed while this process did not know the time,
 * because its whole machine was stopped.
 *
 * Called by: the delivery worker, before a connection is opened and before the first byte.
 *
 * @param leftMs how long the attempt may take; its lease has to last as long
 * @see contract: Events, Delivery rules, 3 and 4
 */
export async function isStillClaimed(
  { store, clock }: Pick<Context, "store" | "clock">,
  { notification, fence }: ClaimedNotification,
  leftMs: number,
): Promise<boolean> {
  const isCurrent = (reader: Reader, now: number) =>
    isClaimCurrent(reader, notification, fence, Math.ceil(now + leftMs));
  // Where nobody else can take over, the time here is the time.
  if (store.isExclusive) return isCurrent(store, clock.now());
  return store.transact(async (tx) => isCurrent(tx, await tx.now()), "process");
}
