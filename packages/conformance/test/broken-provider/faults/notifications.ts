/**
 * Faults of notifications and their signatures.
 */

import { createHmac, randomUUID } from "node:crypto";
import { formatTimestamp } from "@countersign/protocol";
import type { Message } from "../conduct-delivery.ts";
import type { Receiver } from "../ledger.ts";
import { CORRECT, type Fault } from "./fault.ts";

const AUTHENTICATION = "Authentication, 5";
const EVENT = "Events, request.resolved";

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
    breaks: ["signature.value"],
    sentence: "The signature covers another serialization of the body.",
    plant: signing(
      ({ id, timestampS, body }) =>
        `${id}.${timestampS}.${JSON.stringify(JSON.parse(body.toString()), null, 1)}`,
    ),
  },
  {
    id: "signature-of-body-alone",
    section: AUTHENTICATION,
    breaks: ["signature.value"],
    sentence: "The signature is over the body, without id and timestamp.",
    plant: signing(({ body }) => body.toString()),
  },
  {
    id: "signature-by-text",
    section: AUTHENTICATION,
    breaks: ["signature.value"],
    sentence: "The key is the text of the secret, which was not decoded.",
    plant: signing(whole, (secret) => Buffer.from(secret)),
  },
  {
    id: "signature-in-hex",
    section: AUTHENTICATION,
    breaks: ["signature.value"],
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
    breaks: ["signature.value"],
    sentence: "The signature has no `v1,` before it.",
    plant: { sign: (message) => CORRECT.sign(message).slice("v1,".length) },
  },
  {
    id: "timestamp-of-milliseconds",
    section: "Endpoints, Webhook operations",
    breaks: ["signature.timestamp"],
    sentence: "`webhook-timestamp` is in milliseconds.",
    plant: { timestampS: (now) => now },
  },
  {
    id: "timestamp-stale",
    section: AUTHENTICATION,
    breaks: ["signature.fresh"],
    sentence: "A retry has timestamp and signature of the first attempt.",
    plant: {
      timestampS: (now, event) =>
        CORRECT.timestampS(event === undefined ? now : event.decision.decidedAt, event),
    },
    seenBy: ["retry.after"],
  },
  {
    id: "header-missing",
    section: "Endpoints, Webhook operations",
    breaks: ["signature.headers"],
    sentence: "There is no `webhook-id`.",
    plant: { headers: ({ "webhook-id": _, ...headers }) => headers },
  },
  {
    id: "credential-sent",
    section: AUTHENTICATION,
    breaks: ["signature.no-credentials"],
    sentence: "Messages carry the instance's credential.",
    plant: {
      headers: (headers, { token }) => ({ ...headers, authorization: `Bearer ${token}` }),
    },
  },
  {
    id: "url-without-query",
    section: "Endpoints, Webhook operations",
    breaks: ["delivery.url.exact"],
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
    breaks: ["event.emitted"],
    sentence: "The provider sends no events.",
    plant: { events: () => 0 },
  },
  {
    id: "event-not-of-cancel",
    section: EVENT,
    breaks: ["event.emitted"],
    sentence: "A cancellation has no event.",
    plant: {
      events: (request, cause) => (cause === "cancel" ? 0 : CORRECT.events(request, cause)),
    },
  },
  {
    id: "event-not-of-expiry",
    section: EVENT,
    breaks: ["event.emitted"],
    sentence: "An expiry has no event.",
    plant: {
      events: (request, cause) => (cause === "deadline" ? 0 : CORRECT.events(request, cause)),
    },
    seenBy: ["notify.expired"],
  },
  {
    id: "event-twice",
    section: EVENT,
    breaks: ["event.emitted"],
    sentence: "Every end has two events.",
    plant: { events: (request, cause) => 2 * CORRECT.events(request, cause) },
    seenBy: ["notify.single"],
  },
  {
    id: "event-with-status",
    section: EVENT,
    breaks: ["event.body"],
    sentence: "The event contains the decision.",
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
    breaks: ["event.body"],
    sentence: "The event does not name the instance.",
    plant: { eventMembers: (members) => ({ ...members, instance_id: undefined }) },
  },
  {
    id: "event-id-other",
    section: EVENT,
    breaks: ["event.id"],
    sentence: "The id in the body is not the `webhook-id`.",
    plant: {
      eventMembers: (members) => ({ ...members, id: JSON.stringify(randomUUID()) }),
    },
  },
  {
    id: "event-of-request-time",
    section: EVENT,
    breaks: ["event.created-at"],
    sentence: "`created_at` of an event is that of the request.",
    plant: {
      eventMembers: (members, { createdAt }) => ({
        ...members,
        created_at: JSON.stringify(formatTimestamp(createdAt)),
      }),
    },
  },
];

export const NOTIFICATION_FAULTS: readonly Fault[] = [...SIGNING, ...EVENTS];
