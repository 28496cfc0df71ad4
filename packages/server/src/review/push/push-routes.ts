/**
 * Browsers of a person, which are told of what waits for them (Web Push). With a session only; a
 * token has no browser.
 */

import {
  excerpt,
  Fields,
  formatTimestamp,
  hasInvisible,
  type JsonValue,
} from "@countersign/protocol";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Context } from "../../context.ts";
import type { StoredSubscription } from "../../core/push.ts";
import { type Gate, signedInBy } from "../../http/authenticate.ts";
import { jsonBody, pathIdentifier, sendJson } from "../../http/exchange.ts";
import { userAgentOf } from "../../http/peer.ts";
import { listPushSubscriptions } from "../../operations/push/listPushSubscriptions.ts";
import {
  type PushOrder,
  subscribePush,
  unsubscribePush,
} from "../../operations/push/subscribePush.ts";
import { testPush } from "../../operations/push/testPush.ts";
import { toWireSending, writeOutcome } from "../channels/sending-wire.ts";
import { TestLimit } from "../channels/test-limit.ts";

const PUSH = "/review/v1/account/push";

const BODY_BYTES_MAX = 8_192;
const NAME_CHARS_MAX = 64;

export function addPushRoutes(app: FastifyInstance, context: Context, gate: Gate): void {
  const onRequest = gate.admitPerson;
  const preHandler = gate.charge;
  const tests = new TestLimit(context.clock);
  const bodyLimit = Math.min(BODY_BYTES_MAX, context.settings.bodyBytesMax);

  app.get(
    PUSH,
    { config: { operation: "listPushSubscriptions" }, onRequest },
    async (request, reply) => {
      const { publicKey, subscriptions } = await listPushSubscriptions(
        context,
        signedInBy(request),
      );
      const answer = {
        available: publicKey !== null,
        public_key: publicKey,
        subscriptions: subscriptions.map(toWire),
        now: formatTimestamp(context.clock.now()),
      };
      return sendJson(reply, 200, JSON.stringify(answer));
    },
  );

  app.post(
    PUSH,
    { config: { operation: "subscribePush" }, onRequest, preHandler, bodyLimit },
    async (request, reply) => {
      const order = parse(jsonBody(request), request);
      const { subscription, isNew } = await subscribePush(context, signedInBy(request), order);
      request.subjectId = subscription.id;
      return sendJson(reply, isNew ? 201 : 200, JSON.stringify(toWire(subscription)));
    },
  );

  app.delete(
    `${PUSH}/:id`,
    { config: { operation: "unsubscribePush" }, onRequest, preHandler },
    async (request, reply) => {
      const id = pathIdentifier(request);
      await unsubscribePush(context, signedInBy(request), id);
      return sendJson(reply, 200, JSON.stringify({ removed: id }));
    },
  );

  // Takes no body; one that is sent is not looked at.
  app.post(
    `${PUSH}/:id/test`,
    { config: { operation: "testPush" }, onRequest, preHandler },
    async (request, reply) => {
      const signedIn = signedInBy(request);
      const begin = () => tests.take(signedIn.person.id);
      const outcome = await testPush(context, signedIn, pathIdentifier(request), begin);
      return sendJson(reply, 200, JSON.stringify(writeOutcome(outcome)));
    },
  );
}

/** Never with the endpoint. */
function toWire(subscription: StoredSubscription): object {
  const { id, name, endpointSha256, targetShown, createdAt, failures, last } = subscription;
  return {
    id,
    name,
    endpoint_sha256: endpointSha256,
    target: targetShown,
    created_at: formatTimestamp(createdAt),
    failures,
    ...(last !== null && { last: toWireSending(last) }),
  };
}

/** @throws Problem `invalid_request` naming the field */
function parse(body: JsonValue, request: FastifyRequest): PushOrder {
  const fields = new Fields(body, ["endpoint", "keys", "expirationTime", "name"]);
  const endpoint = fields.required("endpoint", fields.text("endpoint", 1));
  const object = fields.required("keys", fields.object("keys"));
  const keys = new Fields(object, ["p256dh", "auth"], "keys");
  const name = fields.text("name", 1);
  if (name !== undefined && (name.length > NAME_CHARS_MAX || hasInvisible(name))) {
    throw fields.invalid("name", `must have 1 to ${NAME_CHARS_MAX} visible characters`);
  }
  return {
    endpoint,
    p256dh: keys.required("p256dh", keys.text("p256dh", 1)),
    auth: keys.required("auth", keys.text("auth", 1)),
    name: name ?? excerpt(userAgentOf(request) || "browser", NAME_CHARS_MAX),
  };
}
