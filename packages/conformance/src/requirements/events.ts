import type { RequirementTable } from "./requirement.ts";

const VERIFICATION = "Events, webhook.verification";
const RESOLVED = "Events, request.resolved";
const RULES = "Events, Delivery rules";
const DAYS = "the kit does not wait for a week";

export const EVENTS = {
  "events.url": {
    source: "Endpoints, Webhook operations",
    text: "Messages are sent to the exact configured URL, path and query included.",
    check: "every message",
  },
  "events.verification.shape": {
    source: VERIFICATION,
    text: "A verification has exactly the fields of the contract, and the registration id.",
    check: "every message",
  },
  "events.verification.once": {
    source: VERIFICATION,
    text: "One verification is sent per provisioning or update, and is not retried.",
    check: "scenario",
  },
  "events.verification.challenge": {
    source: VERIFICATION,
    text: "Every verification has a fresh challenge.",
    check: "scenario",
  },
  "events.verification.reserved": {
    source: VERIFICATION,
    text: "An instance that is being verified is not usable yet.",
    check: "scenario",
  },
  "events.verification.success": {
    source: `${VERIFICATION}, 2`,
    text: "Status 200 with exactly the matching challenge is a success.",
    check: "scenario",
  },
  "events.verification.challenge-required": {
    source: `${VERIFICATION}, 2`,
    text: "A 2xx without the matching challenge, and any other status, are failures.",
    check: "scenario",
  },
  "events.verification.deadline": {
    source: `${VERIFICATION}, 2`,
    text: "A receiver that has not answered after 10 seconds has failed.",
    check: "scenario",
  },
  "events.verification.redirect": {
    source: `${VERIFICATION}, 2`,
    text: "A verification that is answered with a redirect has failed, and is not sent on.",
    check: "scenario",
  },
  "events.verification.rate": {
    source: `${VERIFICATION}, 4`,
    text: "Registration attempts are rate limited.",
    untestable: "the contract leaves the numbers to the provider, and trying them disturbs it",
  },
  "events.resolved.emitted": {
    source: RESOLVED,
    text: "Every request that becomes terminal under a receiver has an event.",
    check: "scenario",
  },
  "events.resolved.single": {
    source: RESOLVED,
    text: "A request has one event, whoever ends it.",
    check: "scenario",
  },
  "events.resolved.shape": {
    source: RESOLVED,
    text: "An event has exactly the fields of the contract: no decision, arguments or credential.",
    check: "every message",
  },
  "events.resolved.id": {
    source: RESOLVED,
    text: "The id of a message is its `webhook-id`.",
    check: "every message",
  },
  "events.resolved.created-at": {
    source: RESOLVED,
    text:
      "The event's `created_at` is the decision's `decided_at`, and the request has it by " +
      "then.",
    check: "scenario",
  },
  "events.delivery.identical": {
    source: `${RULES}, 1`,
    text: "Id and body are identical in every attempt.",
    check: "scenario",
  },
  "events.delivery.acknowledged": {
    source: `${RULES}, 2`,
    text: "Any 2xx ends delivery.",
    check: "scenario",
  },
  "events.delivery.retried": {
    source: `${RULES}, 3`,
    text: "A failed attempt is followed by another, until one is acknowledged.",
    check: "scenario",
  },
  "events.delivery.backoff": {
    source: `${RULES}, 3`,
    text: "The time between attempts grows exponentially, with jitter, for 168 hours.",
    untestable: "base, maximum and jitter are the provider's, and the window is a week",
  },
  "events.delivery.outstanding": {
    source: `${RULES}, 3`,
    text: "At most one attempt per event is outstanding.",
    check: "scenario",
  },
  "events.delivery.attempt-timeout": {
    source: `${RULES}, 3`,
    text: "An attempt ends within 10 seconds.",
    check: "scenario",
  },
  "events.delivery.retry-after": {
    source: `${RULES}, 3`,
    text: "`Retry-After` on 429 and 503 is honoured.",
    check: "scenario",
  },
  "events.delivery.redirect": {
    source: `${RULES}, 3`,
    text: "A redirect is no acknowledgement, and is not followed.",
    check: "scenario",
  },
  "events.delivery.removal": {
    source: `${RULES}, 4`,
    text: "Removing the receiver or deleting the instance ends the attempts.",
    check: "scenario",
  },
  "events.delivery.retention": {
    source: `${RULES}, 5`,
    text:
      "Request, key and notification are kept until the later of 168 hours and 24 after " +
      "delivery.",
    untestable: DAYS,
  },
} as const satisfies RequirementTable;
