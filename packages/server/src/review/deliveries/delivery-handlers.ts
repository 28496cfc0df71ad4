/** Handlers of deliveries. They never return the event, the full URL of a receiver or a secret. */

import { formatTimestamp, invalidField } from "@countersign/protocol";
import {
  type Delivery,
  type DeliveryAttempt,
  type deliveries,
  JsonText,
  type Writable,
  writeCursor,
} from "@countersign/review-api";
import type { Context } from "../../context.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import {
  listDeliveries,
  type ReviewedDelivery,
} from "../../operations/deliveries/listDeliveries.ts";
import { retryDeliveries } from "../../operations/deliveries/retryDeliveries.ts";
import { retryDelivery } from "../../operations/deliveries/retryDelivery.ts";
import { showDelivery } from "../../operations/deliveries/showDelivery.ts";

export function deliveryHandlers(context: Context): Handlers<typeof deliveries> {
  return {
    async listDeliveries({ caller, query: { instance_id, ...listing } }) {
      if (instance_id !== undefined && listing.state !== "waiting") {
        throw invalidField("instance_id", "is allowed only with the state waiting");
      }
      const page = await listDeliveries(context, caller, { ...listing, instanceId: instance_id });
      return {
        deliveries: page.deliveries.map(toWire),
        next: writeCursor(page.next),
        now: formatTimestamp(context.clock.now()),
      };
    },

    async showDelivery({ caller, path }) {
      return toWire(await showDelivery(context, caller, path.id));
    },

    async retryDelivery({ caller, path }) {
      return toWire(await retryDelivery(context, caller, path.id));
    },

    async retryDeliveries({ caller, body: { instance_id: instanceId }, request }) {
      request.subjectId = instanceId;
      const retried = await retryDeliveries(context, caller, instanceId);
      return { instance_id: instanceId, hurried: retried };
    },
  };
}

function toWire(delivery: ReviewedDelivery): Writable<Delivery> {
  const { notification, progress, instanceName, destination, givesUpAt } = delivery;
  const { id, requestId, instanceId, attempts, last, createdAt } = notification;
  const ended = progress.kind === "ended" ? progress : undefined;
  return {
    id,
    request_id: requestId,
    instance: { id: instanceId, name: new JsonText(instanceName) },
    status: progress.kind,
    destination,
    attempts,
    last_attempt: last === null ? undefined : toWireAttempt(last),
    next_attempt_at: progress.kind === "ended" ? undefined : formatTimestamp(progress.nextAt),
    gives_up_at: formatTimestamp(givesUpAt),
    created_at: formatTimestamp(createdAt),
    ended_at: ended === undefined || ended.at === null ? undefined : formatTimestamp(ended.at),
    ended_by: ended?.by,
  };
}

type Last = NonNullable<ReviewedDelivery["notification"]["last"]>;

/** The last attempt. */
export function toWireAttempt({ at, outcome, status }: Last): DeliveryAttempt {
  return { at: formatTimestamp(at), outcome, http_status: status ?? undefined };
}
