import type { Context } from "../../context.ts";
import { countWaitingNotifications as count } from "../../storage/sql/deliveries/notification-listings.ts";

/** Counts the notifications that wait for delivery, for the metrics. */
export async function countWaitingNotifications({ store }: Context): Promise<number> {
  return count(store);
}
