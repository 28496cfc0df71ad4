/** Adds to notifications what a reviewer sees of a delivery. */

import { parseWebhookUrl } from "@countersign/protocol";
import {
  type DeliveryProgress,
  deliveryWindowEnd,
  progressOf,
} from "../../core/delivery-progress.ts";
import type { StoredNotification } from "../../core/notification.ts";
import type { JsonText } from "../../core/request.ts";
import {
  type NotifiedInstance,
  readNotifiedInstances,
} from "../../storage/sql/deliveries/notification-listings.ts";
import type { Reader } from "../../storage/store.ts";

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

/**
 * @param notifications of this project
 * @param now epoch ms; decides what is in flight and which windows are over
 */
export async function reviewDeliveries(
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
    givesUpAt: deliveryWindowEnd(notification),
  };
}

/** Origin of a receiver: all of its URL that may be shown. */
export function destinationOf(url: string | null): string | null {
  // What is acceptable changed since it was accepted, or did not: this only says where it is.
  const parsed = parseWebhookUrl(url ?? "", { internalNames: true });
  return parsed === undefined ? null : `https://${parsed.authority}`;
}
