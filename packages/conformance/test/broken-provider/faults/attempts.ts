/**
 * Faults of attempts: what follows a failed one, and what becomes of them when a receiver changes.
 */

import { retryAfterMs } from "../conduct-delivery.ts";
import type { Receiver } from "../ledger.ts";
import { CORRECT, type Fault } from "./fault.ts";

const RULES = "Events, Delivery rules";
const UPDATE = "Endpoints, PATCH /v1/instances/{id}";

function attemptId(id: string, attempt: number): string {
  return `${id.slice(0, -4)}${String(attempt).padStart(4, "0")}`;
}

const ATTEMPTS: readonly Fault[] = [
  {
    id: "retry-id-new",
    section: `${RULES}, 1`,
    breaks: ["event.identical", "event.id"],
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
    seenBy: ["retry.repeated"],
  },
  {
    id: "retry-body-other",
    section: `${RULES}, 1`,
    breaks: ["event.identical"],
    sentence: "The body of a retry is written anew, with other white space.",
    plant: {
      eventBody: ({ body, attempts }) =>
        attempts === 1 ? body : Buffer.from(JSON.stringify(JSON.parse(body.toString()), null, 1)),
    },
    seenBy: ["retry.repeated"],
  },
  {
    id: "retry-missing",
    section: `${RULES}, 3`,
    breaks: ["event.retry.repeated"],
    sentence: "A failed attempt is the last.",
    plant: { delayMs: () => undefined },
    seenBy: ["retry.repeated"],
  },
  {
    id: "retry-not-of-500",
    section: `${RULES}, 3`,
    breaks: ["event.retry.repeated"],
    sentence: "A 500 ends delivery.",
    plant: {
      delayMs: (reply, event, times) =>
        reply.status === 500 ? undefined : CORRECT.delayMs(reply, event, times),
    },
    seenBy: ["retry.repeated"],
  },
  {
    id: "retry-not-of-400",
    section: `${RULES}, 3`,
    breaks: ["event.retry.repeated"],
    sentence: "A 4xx ends delivery.",
    plant: {
      delayMs: (reply, event, times) =>
        reply.status >= 400 && reply.status < 500
          ? undefined
          : CORRECT.delayMs(reply, event, times),
    },
    seenBy: ["retry.statuses"],
  },
  {
    id: "retry-not-of-expiry",
    section: "States, Approval request",
    breaks: ["event.retry.expired-request"],
    sentence: "A failed attempt of the event of an expired request is the last.",
    plant: {
      delayMs: (reply, event, times) =>
        event.decision.status === "expired" ? undefined : CORRECT.delayMs(reply, event, times),
    },
    seenBy: ["retry.expired"],
  },
  {
    id: "retry-after-204",
    section: `${RULES}, 2`,
    breaks: ["event.acknowledged"],
    sentence: "Only a 200 acknowledges.",
    plant: { acknowledges: ({ status }) => status === 200 },
    seenBy: ["notify.single"],
  },
  {
    id: "retry-after-2xx",
    section: `${RULES}, 2`,
    breaks: ["event.acknowledged", "event.emitted"],
    sentence: "Every event is sent twice, to be sure.",
    plant: {
      acknowledges: () => false,
      delayMs: (_, { attempts }) => (attempts < 2 ? 50 : undefined),
    },
    seenBy: ["notify.single"],
  },
  {
    id: "redirect-acknowledges",
    section: `${RULES}, 3`,
    breaks: ["delivery.url.no-redirects"],
    sentence: "A redirect acknowledges.",
    plant: { acknowledges: ({ status }) => status >= 200 && status < 400 },
  },
  {
    id: "redirect-followed",
    section: `${RULES}, 3`,
    breaks: ["delivery.url.no-redirects"],
    sentence: "A notification follows redirects.",
    plant: {
      redirect: ({ status, headers }) =>
        status >= 300 && status < 400 ? String(headers.location ?? "") : undefined,
    },
    seenBy: ["retry.redirect"],
  },
  {
    id: "attempts-overlap",
    section: `${RULES}, 3`,
    breaks: ["event.retry.one-outstanding"],
    sentence: "A second attempt starts while the first is still waiting for its answer.",
    plant: { overlapMs: () => 100 },
  },
  {
    id: "attempt-without-end",
    section: `${RULES}, 3`,
    breaks: ["event.retry.ten-seconds"],
    sentence: "An attempt may take half a minute.",
    plant: {},
    options: { attemptMs: 30_000 },
  },
  {
    id: "retry-after-ignored",
    section: `${RULES}, 3`,
    breaks: ["event.retry.retry-after"],
    sentence: "The provider ignores `Retry-After`.",
    plant: {
      delayMs: ({ body }, event, times) =>
        CORRECT.delayMs({ status: 500, headers: {}, body }, event, times),
    },
  },
  {
    id: "retry-after-of-503-ignored",
    section: `${RULES}, 3`,
    breaks: ["event.retry.retry-after"],
    sentence: "The provider accepts `Retry-After` only with 429.",
    plant: {
      delayMs: (reply, event, times) =>
        reply.status === 503 && retryAfterMs(reply) > 0
          ? times.backoffMs
          : CORRECT.delayMs(reply, event, times),
    },
  },
];

/** The first receiver of each event. */
const firstReceivers = new WeakMap<object, Receiver>();

const CHANGES: readonly Fault[] = [
  {
    id: "removal-ignored",
    section: `${RULES}, 4`,
    breaks: ["event.retry.ended", "delivery.update.removes"],
    sentence: "Attempts continue after the receiver was removed.",
    plant: {
      receiver(event) {
        const receiver = CORRECT.receiver(event) ?? firstReceivers.get(event);
        if (receiver !== undefined) firstReceivers.set(event, receiver);
        return receiver;
      },
    },
    seenBy: ["retry.removed"],
  },
  {
    id: "queued-keep-receiver",
    section: UPDATE,
    breaks: ["delivery.update.queued-follow"],
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
    breaks: ["signature.value", "delivery.update.queued-follow"],
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
    seenBy: ["retry.replaced"],
  },
  {
    id: "queued-dropped",
    section: UPDATE,
    breaks: ["delivery.update.queued-follow"],
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
    id: "earlier-sent-to-new",
    section: "Events",
    breaks: ["event.receiver-only"],
    sentence: "A first receiver gets the events of requests that ended before it was configured.",
    plant: {
      events: (_, cause) => (cause === "deletion" ? 0 : 1),
      replaced: (events) => events.filter(({ attempts }) => attempts === 0),
    },
    seenBy: ["notify.not-replayed"],
  },
  {
    id: "ended-sent-again",
    section: UPDATE,
    breaks: ["delivery.update.ended-stay-ended"],
    sentence: "A new receiver gets all earlier notifications again.",
    plant: { replaced: (events) => events },
    seenBy: ["notify.not-replayed"],
  },
];

export const ATTEMPT_FAULTS: readonly Fault[] = [...ATTEMPTS, ...CHANGES];
