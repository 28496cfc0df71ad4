/**
 * Faults of telling receivers what has ended.
 *
 * Called by: all.ts.
 */

import { createHmac, randomUUID } from "node:crypto";
import { formatTimestamp } from "@countersign/protocol";
import { type Message, retryAfterMs } from "../conduct-delivery.ts";
import type { Receiver } from "../ledger.ts";
import { CORRECT, type Fault } from "./fault.ts";

const AUTHENTICATION = "Authentication, 5";
const EVENT = "Events, request.resolved";
const RULES = "Events, Delivery rules";
const UPDATE = "Endpoints, PATCH /v1/instances/{id}";

function signing(
  content: (message: Message) => string,
  key: (secret: string) => Buffer = decoded,
): Fault["plant"] {
  return {
    sign: (message) => {
      const hmac = createHmac("sha256", key(message.receiver.signingSecret));
      return `v1,${hmac.update(content(message)).digest("base64")}`;
    },
  };
}

function decoded(secret: string): Buffer {
  return Buffer.from(secret.slice("whsec_".length), "base64");
}

const whole = ({ id, timestampS, body }: Message) => `${id}.${timestampS}.${body}`;

const SIGNING: readonly Fault[] = [
  {
    id: "signature-of-other-bytes",
    section: AUTHENTICATION,
    breaks: ["authentication.signature.value"],
    sentence: "The signature is over the body as it was before it was written once more.",
    plant: signing(
      ({ id, timestampS, body }) =>
        `${id}.${timestampS}.${JSON.stringify(JSON.parse(body.toString()), null, 1)}`,
    ),
  },
  {
    id: "signature-of-body-alone",
    section: AUTHENTICATION,
    breaks: ["authentication.signature.value"],
    sentence: "The signature is over the body, without id and timestamp.",
    plant: signing(({ body }) => body.toString()),
  },
  {
    id: "signature-by-text",
    section: AUTHENTICATION,
    breaks: ["authentication.signature.value"],
    sentence: "The key is the text of the secret, which was not decoded.",
    plant: signing(whole, (secret) => Buffer.from(secret)),
  },
  {
    id: "signature-in-hex",
    section: AUTHENTICATION,
    breaks: ["authentication.signature.value"],
    sentence: "The digest is written in hex.",
    plant: {
      sign: (message) => {
        const digest = CORRECT.sign(message).slice("v1,".length);
        return `v1,${Buffer.from(digest, "base64").toString("hex")}`;
      },
    },
  },
  {
    id: "signature-without-version",
    section: AUTHENTICATION,
    breaks: ["authentication.signature.value"],
    sentence: "The signature has no `v1,` before it.",
    plant: { sign: (message) => CORRECT.sign(message).slice("v1,".length) },
  },
  {
    id: "timestamp-of-milliseconds",
    section: "Endpoints, Webhook operations",
    breaks: ["authentication.signature.timestamp"],
    sentence: "`webhook-timestamp` is in milliseconds.",
    plant: { timestampS: (now) => now },
  },
  {
    id: "timestamp-stale",
    section: AUTHENTICATION,
    breaks: ["authentication.signature.fresh"],
    sentence: "A retry has timestamp and signature of the first attempt.",
    plant: {
      timestampS: (now, event) =>
        CORRECT.timestampS(event === undefined ? now : event.decision.decidedAt, event),
    },
  },
  {
    id: "header-missing",
    section: "Endpoints, Webhook operations",
    breaks: ["authentication.signature.headers"],
    sentence: "There is no `webhook-id`.",
    plant: { headers: ({ "webhook-id": _, ...headers }) => headers },
  },
  {
    id: "credential-sent",
    section: AUTHENTICATION,
    breaks: ["authentication.signature.no-credentials"],
    sentence: "Messages carry the instance's credential.",
    plant: {
      headers: (headers, { token }) => ({ ...headers, authorization: `Bearer ${token}` }),
    },
  },
  {
    id: "url-without-query",
    section: "Endpoints, Webhook operations",
    breaks: ["events.url"],
    sentence: "Messages are sent without the query of the URL.",
    plant: {
      verification: (message) => [{ ...message, receiver: withoutQuery(message.receiver) }],
      receiver: (event) => {
        const receiver = CORRECT.receiver(event);
        return receiver && withoutQuery(receiver);
      },
    },
  },
];

function withoutQuery(receiver: Receiver): Receiver {
  const path = receiver.url.path.replace(/\?.*/, "");
  return { ...receiver, url: { ...receiver.url, path } };
}

const EVENTS: readonly Fault[] = [
  {
    id: "event-missing",
    section: EVENT,
    breaks: ["events.resolved.emitted"],
    sentence: "Receivers are told nothing.",
    plant: { events: () => 0 },
  },
  {
    id: "event-not-of-cancel",
    section: EVENT,
    breaks: ["events.resolved.emitted"],
    sentence: "A cancellation has no event.",
    plant: {
      events: (request, cause) => (cause === "cancel" ? 0 : CORRECT.events(request, cause)),
    },
  },
  {
    id: "event-not-of-expiry",
    section: EVENT,
    breaks: ["events.resolved.emitted"],
    sentence: "An expiry has no event.",
    plant: {
      events: (request, cause) => (cause === "deadline" ? 0 : CORRECT.events(request, cause)),
    },
  },
  {
    id: "event-twice",
    section: EVENT,
    breaks: ["events.resolved.single"],
    sentence: "Every end has two events.",
    plant: { events: (request, cause) => 2 * CORRECT.events(request, cause) },
  },
  {
    id: "event-with-status",
    section: EVENT,
    breaks: ["events.resolved.shape"],
    sentence: "The event tells the decision.",
    plant: {
      eventMembers: (members, { decision }) => ({
        ...members,
        status: JSON.stringify(decision?.status),
      }),
    },
  },
  {
    id: "event-without-instance",
    section: EVENT,
    breaks: ["events.resolved.shape"],
    sentence: "The event does not name the instance.",
    plant: { eventMembers: (members) => ({ ...members, instance_id: undefined }) },
  },
  {
    id: "event-id-other",
    section: EVENT,
    breaks: ["events.resolved.id"],
    sentence: "The id in the body is not the `webhook-id`.",
    plant: {
      eventMembers: (members) => ({ ...members, id: JSON.stringify(randomUUID()) }),
    },
  },
  {
    id: "event-of-request-time",
    section: EVENT,
    breaks: ["events.resolved.created-at"],
    sentence: "`created_at` of an event is that of the request.",
    plant: {
      eventMembers: (members, { createdAt }) => ({
        ...members,
        created_at: JSON.stringify(formatTimestamp(createdAt)),
      }),
    },
  },
];

const ATTEMPTS: readonly Fault[] = [
  {
    id: "retry-id-new",
    section: `${RULES}, 1`,
    breaks: ["events.delivery.identical", "events.resolved.id"],
    sentence: "Every attempt has an id of its own.",
    plant: {
      eventId: (event) => (event.attempts === 1 ? event.id : attemptId(event.id, event.attempts)),
      eventBody: (event) =>
        Buffer.from(
          event.attempts === 1
            ? event.body
            : event.body.toString().replace(event.id, attemptId(event.id, event.attempts)),
        ),
    },
  },
  {
    id: "retry-body-other",
    section: `${RULES}, 1`,
    breaks: ["events.delivery.identical"],
    sentence: "The body of a retry is written anew, with other white space.",
    plant: {
      eventBody: ({ body, attempts }) =>
        attempts === 1 ? body : Buffer.from(JSON.stringify(JSON.parse(body.toString()), null, 1)),
    },
  },
  {
    id: "retry-missing",
    section: `${RULES}, 3`,
    breaks: ["events.delivery.retried"],
    sentence: "A failed attempt is the last.",
    plant: { delayMs: () => undefined },
  },
  {
    id: "retry-not-of-500",
    section: `${RULES}, 3`,
    breaks: ["events.delivery.retried"],
    sentence: "A 500 ends delivery.",
    plant: {
      delayMs: (reply, event, baseMs) =>
        reply.status === 500 ? undefined : CORRECT.delayMs(reply, event, baseMs),
    },
  },
  {
    id: "retry-not-of-400",
    section: `${RULES}, 3`,
    breaks: ["events.delivery.retried"],
    sentence: "A 4xx ends delivery.",
    plant: {
      delayMs: (reply, event, baseMs) =>
        reply.status >= 400 && reply.status < 500
          ? undefined
          : CORRECT.delayMs(reply, event, baseMs),
    },
  },
  {
    id: "retry-after-204",
    section: `${RULES}, 2`,
    breaks: ["events.delivery.acknowledged"],
    sentence: "Only a 200 acknowledges.",
    plant: { acknowledges: ({ status }) => status === 200 },
  },
  {
    id: "retry-after-2xx",
    section: `${RULES}, 2`,
    breaks: ["events.delivery.acknowledged", "events.resolved.single"],
    sentence: "Every event is sent twice, to be sure.",
    plant: { acknowledges: () => false, delayMs: (_, { attempts }) => (attempts < 2 ? 50 : undefined) },
  },
  {
    id: "redirect-acknowledges",
    section: `${RULES}, 3`,
    breaks: ["events.delivery.redirect"],
    sentence: "A redirect acknowledges.",
    plant: { acknowledges: ({ status }) => status >= 200 && status < 400 },
  },
  {
    id: "redirect-followed",
    section: `${RULES}, 3`,
    breaks: ["events.delivery.redirect", "resources.webhook-url.redirects"],
    sentence: "A notification follows redirects.",
    plant: {
      redirect: ({ status, headers }) =>
        status >= 300 && status < 400 ? String(headers.location ?? "") : undefined,
    },
  },
  {
    id: "attempts-overlap",
    section: `${RULES}, 3`,
    breaks: ["events.delivery.outstanding"],
    sentence: "A second attempt starts while the first is still waiting for its answer.",
    plant: { overlapMs: () => 100 },
  },
  {
    id: "attempt-without-end",
    section: `${RULES}, 3`,
    breaks: ["events.delivery.attempt-timeout"],
    sentence: "An attempt may take half a minute.",
    plant: {},
    options: { attemptMs: 30_000 },
  },
  {
    id: "retry-after-ignored",
    section: `${RULES}, 3`,
    breaks: ["events.delivery.retry-after"],
    sentence: "`Retry-After` is not looked at.",
    plant: {
      delayMs: ({ body }, event, baseMs) =>
        CORRECT.delayMs({ status: 500, headers: {}, body }, event, baseMs),
    },
  },
  {
    id: "retry-after-of-503-ignored",
    section: `${RULES}, 3`,
    breaks: ["events.delivery.retry-after"],
    sentence: "`Retry-After` counts on 429 alone.",
    plant: {
      delayMs: (reply, event, baseMs) =>
        reply.status === 503 && retryAfterMs(reply) > 0
          ? baseMs
          : CORRECT.delayMs(reply, event, baseMs),
    },
  },
];

function attemptId(id: string, attempt: number): string {
  return `${id.slice(0, -4)}${String(attempt).padStart(4, "0")}`;
}

/** What an event was first sent to. */
const firstReceivers = new WeakMap<object, Receiver>();

const CHANGES: readonly Fault[] = [
  {
    id: "removal-ignored",
    section: `${RULES}, 4`,
    breaks: ["events.delivery.removal", "endpoints.update.delivery.removed"],
    sentence: "Attempts go on after the receiver was removed.",
    plant: {
      receiver(event) {
        const receiver = CORRECT.receiver(event) ?? firstReceivers.get(event);
        if (receiver !== undefined) firstReceivers.set(event, receiver);
        return receiver;
      },
    },
  },
  {
    id: "queued-keep-receiver",
    section: UPDATE,
    breaks: ["endpoints.update.delivery.queued"],
    sentence: "Retries go to the receiver that the instance had when the request ended.",
    plant: {
      receiver(event) {
        const receiver = firstReceivers.get(event) ?? CORRECT.receiver(event);
        if (receiver !== undefined) firstReceivers.set(event, receiver);
        return receiver;
      },
    },
  },
  {
    id: "queued-keep-secret",
    section: UPDATE,
    breaks: ["authentication.signature.value", "endpoints.update.delivery.queued"],
    sentence: "Retries go to the new URL, signed with the old secret.",
    plant: {
      receiver(event) {
        const current = CORRECT.receiver(event);
        const first = firstReceivers.get(event) ?? current;
        if (current === undefined || first === undefined) return current;
        firstReceivers.set(event, first);
        return { ...current, signingSecret: first.signingSecret };
      },
    },
  },
  {
    id: "queued-dropped",
    section: UPDATE,
    breaks: ["endpoints.update.delivery.queued"],
    sentence: "Queued notifications are dropped when the receiver is replaced.",
    plant: {
      receiver(event) {
        const receiver = CORRECT.receiver(event);
        const first = firstReceivers.get(event) ?? receiver;
        if (first !== undefined) firstReceivers.set(event, first);
        return first === receiver ? receiver : undefined;
      },
    },
  },
  {
    id: "ended-sent-again",
    section: UPDATE,
    breaks: ["endpoints.update.delivery.ended"],
    sentence: "A new receiver is told of everything once more.",
    plant: { replaced: (events) => events },
  },
];

export const NOTIFICATION_FAULTS: readonly Fault[] = [
  ...SIGNING,
  ...EVENTS,
  ...ATTEMPTS,
  ...CHANGES,
];
