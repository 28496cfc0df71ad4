import type { Context } from "../../context.ts";
import type { StoredNotification } from "../../core/notification.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import {
  type ReviewedDelivery,
  reviewDeliveries,
} from "../../steps/deliveries/reviewDeliveries.ts";
import {
  listEndedNotifications,
  listWaitingNotifications,
  listWaitingOfInstance,
} from "../../storage/sql/deliveries/notification-listings.ts";
import type { Cursor } from "../../storage/sql/requests/requests.ts";

export type { ReviewedDelivery };

export interface DeliveryListing {
  readonly state: "waiting" | "ended";
  readonly limit: number;
  /** End of the previous page. */
  readonly after?: Cursor | undefined;
  /** Only deliveries of this instance; requires `waiting`. */
  readonly instanceId: string | undefined;
}

export interface DeliveryPage {
  readonly deliveries: readonly ReviewedDelivery[];
  /** Cursor of the next page; undefined on the last one. */
  readonly next: Cursor | undefined;
}

/** Sort before and after every time and identifier, in any collation. */
const EARLIEST: Cursor = { at: -1, id: "" };

const LATEST: Cursor = {
  at: Number.MAX_SAFE_INTEGER,
  id: "ffffffff-ffff-ffff-ffff-ffffffffffff",
};

/**
 * Deliveries of the reviewer's project: waiting ones by their next attempt, ended ones latest
 * first. A delivery that is attempted between two pages may be on both.
 */
export async function listDeliveries(
  { store, clock }: Pick<Context, "store" | "clock">,
  { projectId }: ReviewerCaller,
  { state, limit, after, instanceId }: DeliveryListing,
): Promise<DeliveryPage> {
  const now = clock.now();
  // One more than the limit shows whether there is a next page.
  const found = await (state === "ended"
    ? listEndedNotifications(store, projectId, after ?? LATEST, limit + 1)
    : instanceId === undefined
      ? listWaitingNotifications(store, projectId, after ?? EARLIEST, limit + 1)
      : listWaitingOfInstance(store, { projectId, instanceId }, after ?? EARLIEST, limit + 1));
  const shown = found.slice(0, limit);
  const deliveries = await reviewDeliveries(store, projectId, shown, now);
  return {
    // An ended delivery no longer waits, even before its end is recorded.
    deliveries:
      state === "ended"
        ? deliveries
        : deliveries.filter(({ progress }) => progress.kind !== "ended"),
    next: shown.length < found.length ? cursorOf(shown.at(-1)) : undefined,
  };
}

function cursorOf(notification: StoredNotification | undefined): Cursor | undefined {
  if (notification === undefined) return undefined;
  const { id, nextAt, ended } = notification;
  return { at: nextAt ?? ended?.at ?? 0, id };
}
