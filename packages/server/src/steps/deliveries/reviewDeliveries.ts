/** Adds to notifications the facts that reviewers need. */

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

/** A notification with related facts for operators. */
export interface ReviewedDelivery {
  readonly notification: StoredNotification;
  readonly progress: DeliveryProgress;
  /** Unverified: a name does not prove an identity. */
  readonly instanceName: JsonText;
  /**
   * Origin of the current receiver, because path and query may contain secrets. Null when the
   * receiver no longer exists.
   */
  readonly destination: string | null;
  /** Epoch ms. */
  readonly givesUpAt: number;
}

/**
 * @param notifications of this project
 * @param now epoch ms; determines attempts in flight and ended windows
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

/** Origin of a receiver, the only part of its URL that may be displayed. */
export function destinationOf(url: string | null): string | null {
  // Accepts any URL that was ever valid, because it is only displayed.
  const parsed = parseWebhookUrl(url ?? "", { internalNames: true });
  return parsed === undefined ? null : `https://${parsed.authority}`;
}
