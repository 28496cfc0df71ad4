/** Web Push: the browsers of a user that receive notifications of pending requests. */

import * as v from "valibot";
import { lastSending, testOutcome } from "./channels.ts";
import { operation } from "./operation.ts";
import {
  anyText,
  body,
  id,
  SMALL_BODY_BYTES_MAX,
  sha256,
  timestamp,
  visibleName,
} from "./schema.ts";

/** Characters of the name of a browser. */
export const PUSH_NAME_CHARS_MAX = 64;

/** The endpoint itself is a secret, and in no answer. */
export const subscription = v.object({
  id,
  name: v.string(),
  endpoint_sha256: sha256,
  /** The host of the push service. */
  target: v.string(),
  created_at: timestamp,
  /** Since the last message that arrived. */
  failures: v.number(),
  last: v.optional(lastSending),
});

export type Subscription = v.InferOutput<typeof subscription>;

const subscriptions = v.object({
  available: v.boolean(),
  /** The key that a browser needs to subscribe; null where push is not available. */
  public_key: v.nullable(v.string()),
  subscriptions: v.array(subscription),
  now: timestamp,
});

export type Subscriptions = v.InferOutput<typeof subscriptions>;

export const push = {
  listPushSubscriptions: operation({
    method: "GET",
    path: "/account/push",
    summary: "List the browsers that receive notifications.",
    caller: "person",
    answers: { 200: subscriptions },
    errors: [],
  }),

  subscribePush: operation({
    method: "POST",
    path: "/account/push",
    summary: "Subscribe a browser, or renew its keys.",
    caller: "person",
    bodyBytesMax: SMALL_BODY_BYTES_MAX,
    /** As `PushSubscription.toJSON()` of a browser writes it, and a name. */
    body: body({
      endpoint: anyText,
      keys: body({ p256dh: anyText, auth: anyText }),
      /** Not used. */
      expirationTime: v.optional(v.unknown()),
      name: v.optional(visibleName(PUSH_NAME_CHARS_MAX)),
    }),
    answers: { 200: subscription, 201: subscription },
    errors: [],
  }),

  unsubscribePush: operation({
    method: "DELETE",
    path: "/account/push/{id}",
    summary: "Stop notifications of a browser.",
    caller: "person",
    answers: { 200: v.object({ removed: id }) },
    errors: ["not_found"],
  }),

  testPush: operation({
    method: "POST",
    path: "/account/push/{id}/test",
    summary: "Send a test notification to a browser.",
    caller: "person",
    answers: { 200: testOutcome },
    errors: ["not_found"],
  }),
};
