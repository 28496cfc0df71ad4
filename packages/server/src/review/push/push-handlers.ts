/** Handlers of Web Push: the browsers of a user that receive notifications. */

import { excerpt, formatTimestamp } from "@countersign/protocol";
import { PUSH_NAME_CHARS_MAX, type push, type Subscription } from "@countersign/review-api";
import type { Context } from "../../context.ts";
import type { StoredSubscription } from "../../core/push.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import { userAgentOf } from "../../http/peer.ts";
import { listPushSubscriptions } from "../../operations/push/listPushSubscriptions.ts";
import { subscribePush, unsubscribePush } from "../../operations/push/subscribePush.ts";
import { testPush } from "../../operations/push/testPush.ts";
import { toWireOutcome, toWireSending } from "../channels/sending-to-wire.ts";
import { createTestLimit } from "../channels/test-limit.ts";

export function pushHandlers(context: Context): Handlers<typeof push> {
  const chargeTest = createTestLimit(context.clock);
  return {
    async listPushSubscriptions({ caller }) {
      const { publicKey, subscriptions } = await listPushSubscriptions(context, caller);
      return {
        available: publicKey !== null,
        public_key: publicKey,
        subscriptions: subscriptions.map(toWire),
        now: formatTimestamp(context.clock.now()),
      };
    },

    async subscribePush({ caller, body, request }) {
      const { endpoint, keys, name } = body;
      const { subscription, isNew } = await subscribePush(context, caller, {
        endpoint,
        p256dh: keys.p256dh,
        auth: keys.auth,
        name: name ?? excerpt(userAgentOf(request) || "browser", PUSH_NAME_CHARS_MAX),
      });
      request.subjectId = subscription.id;
      return { status: isNew ? 201 : 200, body: toWire(subscription) };
    },

    async unsubscribePush({ caller, path }) {
      await unsubscribePush(context, caller, path.id);
      return { removed: path.id };
    },

    async testPush({ caller, path }) {
      const charge = () => chargeTest(caller.person.id);
      return toWireOutcome(await testPush(context, caller, path.id, charge));
    },
  };
}

function toWire(subscription: StoredSubscription): Subscription {
  const { id, name, endpointSha256, targetShown, createdAt, failures, last } = subscription;
  return {
    id,
    name,
    endpoint_sha256: endpointSha256,
    target: targetShown,
    created_at: formatTimestamp(createdAt),
    failures,
    last: last === null ? undefined : toWireSending(last),
  };
}
