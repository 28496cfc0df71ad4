import { parseWebhookUrl } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { type DeliveryProgress, givesUpAt, progressOf } from "../../core/delivery-progress.ts";
import type { StoredNotification } from "../../core/notification.ts";
import type { JsonText } from "../../core/request.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import {
  listEndedNotifications,
  listWaitingNotifications,
  listWaitingOfInstance,
  type NotifiedInstance,
  readNotifiedInstances,
} from "../../storage/sql/deliveries/notification-listings.ts";
import type { Place } from "../../storage/sql/requests/requests.ts";
import type { Reader } from "../../storage/store.ts";

export interface DeliveryListing {
  readonly state: "waiting" | "ended";
  readonly limit: number;
  /** Where the page before ended. */
  readonly after?: Place | undefined;
  /** Only those of this one; with `waiting` alone. */
  readonly instanceId: string | undefined;
}

/** A notification with what an operator needs to know beside it. */
export interface ReviewedDelivery {
  readonly notification: StoredNotification;
  readonly progress: DeliveryProgress;
  /** A name is not proof of identity. */
  readonly instanceName: JsonText;
  /**
   * Origin of the receiver as it is now: path and query may hold secrets. Null when the receiver
   * that it was meant for is gone.
   */
  readonly destination: string | null;
  /** Epoch ms. */
  readonly givesUpAt: number;
}

export interface DeliveryPage {
  readonly deliveries: readonly ReviewedDelivery[];
  /** Where it ended; undefined when nothing comes after it. */
  readonly next: Place | undefined;
}

/** Sort before and behind every time and identifier, in any collation. */
const EARLIEST: Place = { at: -1, id: "" };
const LATEST: Place = {
  at: Number.MAX_SAFE_INTEGER,
  id: "ffffffff-ffff-ffff-ffff-ffffffffffff",
};

/**
 * Deliveries of the reviewer's project: those under way by their next attempt, ended ones the
 * latest first. What is attempted between two pages moves, and may be on both.
 */
export async function listDeliveries(
  { store, clock }: Pick<Context, "store" | "clock">,
  { projectId }: ReviewerCaller,
  { state, limit, after, instanceId }: DeliveryListing,
): Promise<DeliveryPage> {
  const now = clock.now();
  // One more than asked for tells whether there is a next page.
  const found = await (state === "ended"
    ? listEndedNotifications(store, projectId, after ?? LATEST, limit + 1)
    : instanceId === undefined
      ? listWaitingNotifications(store, projectId, after ?? EARLIEST, limit + 1)
      : listWaitingOfInstance(store, { projectId, instanceId }, after ?? EARLIEST, limit + 1));
  const shown = found.slice(0, limit);
  const deliveries = await toReviewed(store, projectId, shown, now);
  return {
    // What has ended waits no more, also while the end is not recorded.
    deliveries:
      state === "ended"
        ? deliveries
        : deliveries.filter(({ progress }) => progress.kind !== "ended"),
    next: shown.length < found.length ? placeOf(shown.at(-1)) : undefined,
  };
}

/**
 * @param notifications of this project
 * @param now epoch ms, which tells what is in flight and whose window is over
 */
export async function toReviewed(
  reader: Reader,
  projectId: string,
  notifications: readonly StoredNotification[],
  now: number,
): Promise<ReviewedDelivery[]> {
  const ids = new Set(notifications.map(({ instanceId }) => instanceId));
  const instances = await readNotifiedInstances(reader, projectId, [...ids]);
  return notifications.flatMap((notification) => {
    const instance = instances.get(notification.instanceId);
    return instance === undefined ? [] : [review(notification, instance, now)];
  });
}

function review(
  notification: StoredNotification,
  instance: NotifiedInstance,
  now: number,
): ReviewedDelivery {
  const isGone = notification.deliveryEpoch < instance.deliveryEpoch;
  return {
    notification,
    progress: progressOf(notification, instance, now),
    instanceName: instance.name,
    destination: isGone ? null : destinationOf(instance.url),
    givesUpAt: givesUpAt(notification),
  };
}

/** Origin of a receiver: all of its URL that may be shown. */
export function destinationOf(url: string | null): string | null {
  // What is acceptable changed since it was accepted, or did not: this only says where it is.
  const parsed = parseWebhookUrl(url ?? "", { internalNames: true });
  return parsed === undefined ? null : `https://${parsed.authority}`;
}

function placeOf(notification: StoredNotification | undefined): Place | undefined {
  if (notification === undefined) return undefined;
  const { id, nextAt, ended } = notification;
  return { at: nextAt ?? ended?.at ?? 0, id };
}
