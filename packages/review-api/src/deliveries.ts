/** Deliveries: notifications of decisions on their way to receivers. */

import * as v from "valibot";
import { operation } from "./operation.ts";
import {
  body,
  cursor,
  deliveryAttempt,
  id,
  identifier,
  identifierParameter,
  named,
  page,
  timestamp,
  wordParameter,
} from "./schema.ts";

const delivery = v.object({
  id,
  request_id: id,
  instance: named,
  status: v.picklist(["waiting", "in_flight", "ended"]),
  /** The origin of the receiver; null when the receiver was removed. */
  destination: v.nullable(v.string()),
  attempts: v.number(),
  last_attempt: v.optional(deliveryAttempt),
  next_attempt_at: v.optional(timestamp),
  gives_up_at: timestamp,
  created_at: timestamp,
  ended_at: v.optional(timestamp),
  ended_by: v.optional(v.string()),
});

export type Delivery = v.InferOutput<typeof delivery>;

export const deliveries = {
  listDeliveries: operation({
    method: "GET",
    path: "/deliveries",
    summary: "List waiting deliveries by next attempt, or ended deliveries, the latest first.",
    caller: "reviewer",
    power: "read",
    query: v.strictObject({
      state: v.optional(wordParameter(["waiting", "ended"]), "waiting"),
      /** With `waiting` only: there is no index by instance for the others. */
      instance_id: identifierParameter("an instance"),
      ...page,
    }),
    answers: { 200: v.object({ deliveries: v.array(delivery), next: cursor, now: timestamp }) },
    errors: [],
  }),

  showDelivery: operation({
    method: "GET",
    path: "/deliveries/{id}",
    summary: "Show a delivery.",
    caller: "reviewer",
    power: "read",
    answers: { 200: delivery },
    errors: ["not_found"],
  }),

  retryDelivery: operation({
    method: "POST",
    path: "/deliveries/{id}/retry",
    summary: "Retry a waiting delivery now.",
    caller: "reviewer",
    power: "decide",
    answers: { 200: delivery },
    errors: ["forbidden", "not_found", "already_terminal"],
  }),

  retryDeliveries: operation({
    method: "POST",
    path: "/deliveries/retry",
    summary: "Retry all waiting deliveries of an instance now.",
    caller: "reviewer",
    power: "decide",
    body: body({ instance_id: identifier("an instance") }),
    answers: { 200: v.object({ instance_id: id, hurried: v.number() }) },
    errors: ["forbidden", "not_found"],
  }),
};
