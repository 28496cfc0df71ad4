/**
 * What an operator reads of deliveries: where they stand, never the event itself, the receiver's
 * URL or a secret.
 */

import { formatTimestamp } from "@countersign/protocol";
import type { DeliveryAttempt } from "@countersign/review-api";
import type { DeliveryPage, ReviewedDelivery } from "../../operations/deliveries/listDeliveries.ts";
import { writeCursor } from "../shared/listing-parameters.ts";

export function writeDelivery(delivery: ReviewedDelivery): string {
  const { notification, progress, instanceName, destination, givesUpAt } = delivery;
  const { id, requestId, instanceId, attempts, last, createdAt } = notification;
  const instance = `{"id":"${instanceId}","name":${instanceName}}`;
  const rest = JSON.stringify({
    status: progress.kind,
    destination,
    attempts,
    ...(last !== null && { last_attempt: toWireAttempt(last) }),
    ...(progress.kind !== "ended" && { next_attempt_at: formatTimestamp(progress.nextAt) }),
    gives_up_at: formatTimestamp(givesUpAt),
    created_at: formatTimestamp(createdAt),
    ...(progress.kind === "ended" && {
      ...(progress.at !== null && { ended_at: formatTimestamp(progress.at) }),
      ended_by: progress.by,
    }),
  });
  // A name is JSON text as it was written, and stays so.
  return `{"id":"${id}","request_id":"${requestId}","instance":${instance},${rest.slice(1)}`;
}

/** Of the last attempt. */
export function toWireAttempt({ at, outcome, status }: NonNullable<Last>): DeliveryAttempt {
  return { at: formatTimestamp(at), outcome, http_status: status ?? undefined };
}

type Last = ReviewedDelivery["notification"]["last"];

/** @param now the server's time: a countdown must not depend on the reader's clock */
export function writeDeliveryPage({ deliveries, next }: DeliveryPage, now: string): string {
  const items = deliveries.map(writeDelivery).join(",");
  return `{"deliveries":[${items}],"next":${writeCursor(next)},"now":"${now}"}`;
}
