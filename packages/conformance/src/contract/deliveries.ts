/** Rules for asynchronous mode: receivers, signatures, verifications, notifications. */

import type { RequirementTable } from "./requirement.ts";

const WEEK = "the kit does not wait for a week";
const UNBOUND = "the contract does not say whether a failed attempt binds its key";
const NUMBERS = "the contract leaves the numbers to the provider";

export const DELIVERIES = {
  // Resources
  "delivery.shape": {
    source: "Resources, WebhookDelivery",
    text: "A delivery has its type, URL and registration id as submitted, and no other fields.",
    check: "every answer",
  },
  "delivery.input.shape": {
    source: "Resources, WebhookDeliveryInput",
    text:
      "The provider rejects a proposed delivery without type, URL, registration id or " +
      "signing secret, or with other fields, with 400.",
    check: "scenario",
  },
  "delivery.input.type": {
    source: "Resources, WebhookDeliveryInput",
    text:
      "The provider rejects a delivery type other than `webhook` with 400 " +
      "`unsupported_delivery_type`.",
    check: "scenario",
  },
  "delivery.input.registration-id": {
    source: "Resources, WebhookDeliveryInput",
    text: "The provider rejects a registration id that is not a UUID with 400.",
    check: "scenario",
  },
  "delivery.input.secret": {
    source: "Resources, WebhookDeliveryInput",
    text:
      "The provider rejects a secret that is not `whsec_` and the canonical padded " +
      "base64 of 32 bytes with 400.",
    check: "scenario",
  },
  "delivery.input.secret.hidden": {
    source: "Resources, WebhookDeliveryInput",
    text: "A signing secret appears in no response, error or log.",
    untestable: "`instance.read.no-secrets` covers responses, and the kit does not see logs",
  },
  "delivery.url.syntax": {
    source: "Resources, WebhookURL rules, 1",
    text:
      "The provider rejects a receiver URL without HTTPS, or with userinfo or a " +
      "fragment, with 400 `invalid_webhook_url`.",
    check: "scenario",
  },
  "delivery.url.certificate": {
    source: "Resources, WebhookURL rules, 1",
    text: "The provider sends nothing to a receiver with an untrusted certificate.",
    check: "scenario",
  },
  "delivery.url.addresses": {
    source: "Resources, WebhookURL rules, 2",
    text:
      "The provider rejects loopback, private, link-local, metadata and other " +
      "non-public addresses, IPv6 included.",
    check: "scenario",
  },
  "delivery.url.every-connection": {
    source: "Resources, WebhookURL rules, 2",
    text:
      "The provider checks addresses before every connection, so that a changed DNS " +
      "answer does not bypass the check.",
    untestable: "the kit owns no name with DNS answers that it can change",
  },
  "delivery.url.no-redirects": {
    source: "Resources, WebhookURL rules, 3",
    text:
      "The provider never follows a redirect of a receiver, and treats it as a failed " +
      "verification or attempt.",
    check: "scenario",
  },
  // Endpoints: instances and requests
  "delivery.provision.verified-first": {
    source: "Endpoints, POST /v1/instances",
    text:
      "The provider verifies the receiver before it commits the instance and issues a " +
      "credential.",
    check: "scenario",
  },
  "delivery.provision.failed": {
    source: "Endpoints, POST /v1/instances",
    text:
      "A failed verification returns 422 `webhook_verification_failed` with `param` " +
      "`delivery`, and creates nothing.",
    check: "scenario",
  },
  "delivery.provision.retry-after-failure": {
    source: "Endpoints, POST /v1/instances",
    text: "After a failed verification the same key and input can be retried.",
    check: "scenario",
  },
  "delivery.provision.conflict-after-failure": {
    source: "Endpoints, POST /v1/instances",
    text:
      "For 168 hours after a failed verification, the same key with other input " +
      "returns 409 `idempotency_conflict`.",
    untestable: UNBOUND,
  },
  "delivery.provision.replay-no-verification": {
    source: "Endpoints, POST /v1/instances",
    text: "A replayed provisioning does not repeat the verification.",
    check: "scenario",
  },
  "delivery.provision.coalesced": {
    source: "Endpoints, POST /v1/instances",
    text: "Concurrent provisionings with one key send one verification and commit once.",
    check: "scenario",
  },
  "delivery.update.replaces": {
    source: "Endpoints, PATCH /v1/instances/{id}",
    text:
      "After verification a supplied delivery replaces the whole configuration, the " +
      "secret included.",
    check: "scenario",
  },
  "delivery.update.together": {
    source: "States, Instance",
    text: "The name and the receiver of one update become visible together.",
    untestable: "the kit cannot read between two writes",
  },
  "delivery.update.removes": {
    source: "Endpoints, PATCH /v1/instances/{id}",
    text: "A null delivery removes the receiver and ends outstanding delivery.",
    check: "scenario",
  },
  "delivery.update.keeps": {
    source: "Endpoints, PATCH /v1/instances/{id}",
    text: "An update without delivery keeps the receiver.",
    check: "scenario",
  },
  "delivery.update.failed": {
    source: "Endpoints, PATCH /v1/instances/{id}",
    text:
      "A failed verification returns 422 `webhook_verification_failed` and changes " +
      "nothing; the same key and input can be retried.",
    check: "scenario",
  },
  "delivery.update.conflict-after-failure": {
    source: "Endpoints, PATCH /v1/instances/{id}",
    text:
      "After a failed verification the same key with other input returns 409 " +
      "`idempotency_conflict` and changes nothing.",
    untestable: UNBOUND,
  },
  "delivery.update.replay-no-verification": {
    source: "Endpoints, PATCH /v1/instances/{id}",
    text: "A replayed update does not repeat the verification and applies nothing.",
    check: "scenario",
  },
  "delivery.update.coalesced": {
    source: "Endpoints, PATCH /v1/instances/{id}",
    text: "Concurrent updates with one key send one verification and commit once.",
    check: "scenario",
  },
  "delivery.update.queued-follow": {
    source: "Endpoints, PATCH /v1/instances/{id}",
    text:
      "Queued notifications use the new URL and secret in later attempts, with the " +
      "same id, body and retry deadline.",
    check: "scenario",
  },
  "delivery.update.ended-stay-ended": {
    source: "Endpoints, PATCH /v1/instances/{id}",
    text: "After delivery of a notification ends, the provider does not send it to a new receiver.",
    check: "scenario",
  },
  "delivery.update.deletion-wins": {
    source: "States, Instance",
    text: "A deletion during the verification of an update wins, and the update changes nothing.",
    check: "scenario",
  },
  "delivery.delete.ends": {
    source: "Endpoints, DELETE /v1/instances/{id}",
    text: "Deleting an instance ends its delivery and sends no cancellation notification.",
    check: "scenario",
  },
  "delivery.request.recorded-together": {
    source: "Endpoints, POST /v1/requests",
    text: "The provider records a terminal outcome and its notification together or not at all.",
    untestable: "the kit cannot stop the provider between two writes",
  },
  "delivery.request.replay-silent": {
    source: "Endpoints, POST /v1/requests",
    text: "A replayed submission creates no further notification.",
    check: "scenario",
  },
  "delivery.request.retention": {
    source: "Endpoints, POST /v1/requests",
    text:
      "The provider keeps a request with a notification until 24 hours after its " +
      "delivery ended, if that is later.",
    untestable: WEEK,
  },
  // Webhook operations and signatures
  "delivery.url.exact": {
    source: "Endpoints, Webhook operations",
    text: "The provider sends a webhook to the exact configured URL, path and query included.",
    check: "every message",
  },
  "signature.headers": {
    source: "Endpoints, Webhook operations",
    text: "A webhook is a POST with `webhook-id`, `webhook-timestamp` and `webhook-signature`.",
    check: "every message",
  },
  "signature.timestamp": {
    source: "Authentication, 5",
    text: "`webhook-timestamp` is the time of the attempt in Unix seconds.",
    check: "every message",
  },
  "signature.value": {
    source: "Authentication, 5",
    text:
      "The signature is `v1,` and the base64 HMAC-SHA256 of id, timestamp and exact " +
      "body under the decoded secret.",
    check: "every message",
  },
  "signature.fresh": {
    source: "Authentication, 5",
    text: "Every attempt has a fresh timestamp and signature.",
    check: "scenario",
  },
  "signature.no-credentials": {
    source: "Authentication, 5",
    text: "A webhook contains no credential.",
    check: "every message",
  },
  // Events: webhook.verification
  "verification.body": {
    source: "Events, webhook.verification",
    text: "A verification has exactly the fields of the contract and echoes the registration id.",
    check: "every message",
  },
  "verification.reserved-id": {
    source: "Events, webhook.verification",
    text: "The instance id of a verification is not usable until the provisioning commits.",
    check: "scenario",
  },
  "verification.once": {
    source: "Events, webhook.verification",
    text:
      "The provider sends one verification per provisioning or update attempt and does " +
      "not retry it.",
    check: "scenario",
  },
  "verification.challenge.fresh": {
    source: "Events, webhook.verification",
    text: "Every verification has a fresh unpredictable challenge.",
    check: "scenario",
  },
  "verification.success": {
    source: "Events, webhook.verification, 2",
    text: "Only a 200 with the matching challenge within 10 seconds is a success.",
    check: "scenario",
  },
  "verification.bare-2xx": {
    source: "Events, webhook.verification, 2",
    text: "A 2xx without the matching challenge is a failure.",
    check: "scenario",
  },
  "verification.rate-limited": {
    source: "Events, webhook.verification, 4",
    text: "The provider limits the rate of verifications per provisioner and per destination.",
    untestable: "the contract leaves the rates to the provider, and reaching them disturbs it",
  },
  // Events: request.resolved
  "event.emitted": {
    source: "Events, request.resolved",
    text:
      "Every request that becomes terminal while a receiver is configured has exactly " +
      "one event, except on deletion of its instance.",
    check: "scenario",
  },
  "event.receiver-only": {
    source: "Events",
    text:
      "A request that becomes terminal without a receiver has no event, also when the " +
      "instance gets a receiver later.",
    check: "scenario",
  },
  "event.body": {
    source: "Events, request.resolved",
    text: "An event has exactly the fields of the contract: no decision, arguments or credential.",
    check: "every message",
  },
  "event.id": {
    source: "Events, request.resolved",
    text: "The id of an event equals its `webhook-id`.",
    check: "every message",
  },
  "event.created-at": {
    source: "Events, request.resolved",
    text:
      "The `created_at` of an event equals the `decided_at` of the decision, which a " +
      "read shows by then.",
    check: "scenario",
  },
  "event.identical": {
    source: "Events, Delivery rules, 1",
    text: "Id and body of an event are identical in all attempts and for all receivers.",
    check: "scenario",
  },
  "event.acknowledged": {
    source: "Events, Delivery rules, 2",
    text: "Any 2xx ends delivery.",
    check: "scenario",
  },
  "event.retry.repeated": {
    source: "Events, Delivery rules, 3",
    text: "The provider retries a failed attempt until a receiver acknowledges the event.",
    check: "scenario",
  },
  "event.retry.window": {
    source: "Events, Delivery rules, 3",
    text:
      "Retries continue until a 2xx or 168 hours after the decision, and the last " +
      "attempt ends by then.",
    untestable: WEEK,
  },
  "event.retry.backoff": {
    source: "Events, Delivery rules, 3",
    text: "The time between attempts grows exponentially, with jitter.",
    untestable: "the contract leaves base, maximum and jitter to the provider",
  },
  "event.retry.one-outstanding": {
    source: "Events, Delivery rules, 3",
    text: "At most one attempt per event is outstanding.",
    check: "scenario",
  },
  "event.retry.ten-seconds": {
    source: "Events, Delivery rules, 3",
    text: "An attempt ends within 10 seconds.",
    check: "scenario",
  },
  "event.retry.retry-after": {
    source: "Events, Delivery rules, 3",
    text:
      "The provider honours `Retry-After` on 429 and 503, in seconds or as an HTTP " +
      "date, within the window.",
    check: "scenario",
  },
  "event.retry.ended": {
    source: "Events, Delivery rules, 4",
    text: "Removing the receiver or deleting the instance ends the attempts.",
    check: "scenario",
  },
  "event.retry.not-ended": {
    source: "Events, Delivery rules, 4",
    text:
      "The expiry of an approval does not end the attempts, and a new receiver does " +
      "not restart the window.",
    untestable: WEEK,
  },
  "event.retry.expired-request": {
    source: "States, Approval request",
    text: "The expiry of a request does not end the attempts to deliver its event.",
    check: "scenario",
  },
  "event.retention": {
    source: "Events, Delivery rules, 5",
    text:
      "The provider keeps request, key and event until the later of 168 hours after " +
      "the decision and 24 hours after delivery ended.",
    untestable: WEEK,
  },
  "event.retention.in-flight": {
    source: "Events, Delivery rules, 5",
    text: "If delivery is removed during an attempt, the 24 hours start when that attempt ends.",
    untestable: WEEK,
  },
  "event.rate-limited": {
    source: "Limits, Other rules, 1",
    text:
      "The provider limits deliveries per provisioner and per destination, and bounds " +
      "concurrency and sizes.",
    untestable: NUMBERS,
  },
  "limit.documented": {
    source: "Limits, Other rules, 1",
    text: "The provider documents the numbers of its limits.",
    untestable: NUMBERS,
  },
} as const satisfies RequirementTable;
