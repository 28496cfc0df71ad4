/**
 * Faults of taking and proving receivers.
 *
 * Called by: all.ts.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { parseIdentifier, parseWebhookUrl } from "@countersign/protocol";
import type { Conduct } from "../conduct.ts";
import type { Reply } from "../conduct-delivery.ts";
import {
  answering,
  CORRECT,
  type Fault,
  hasCode,
  memberOf,
  onlyKnown,
  refusing,
  withMember,
} from "./fault.ts";

const INPUT = "Resources, WebhookDeliveryInput";
const URL_RULES = "Resources, WebhookURL rules";
const PROVISION = "Endpoints, POST /v1/instances";
const UPDATE = "Endpoints, PATCH /v1/instances/{id}";
const VERIFICATION = "Events, webhook.verification";

type Body = Parameters<Conduct["readProvision"]>[0];

/** Changes a proposed delivery before the strict reader sees it. */
function readingDelivery(change: (delivery: Body) => Body): Partial<Conduct> {
  const changed = (body: Body) => {
    const delivery = memberOf(body, "delivery");
    return delivery === undefined || delivery === null
      ? body
      : withMember(body, "delivery", change(delivery));
  };
  return {
    readProvision: (body, rules) => CORRECT.readProvision(changed(body), rules),
    readUpdate: (body, rules) => CORRECT.readUpdate(changed(body), rules),
  };
}

const SECRET = `whsec_${Buffer.alloc(32).toString("base64")}`;
const ID = "0d9c7f0e-4f0c-4f0e-9f0e-0d9c7f0e4f0c";

const INPUTS: readonly Fault[] = [
  {
    id: "synchronous-only-ignores",
    section: "What the service does, 6",
    breaks: ["service.synchronous-only"],
    sentence: "A provider without webhooks ignores a delivery.",
    plant: {
      readProvision: (body, rules) =>
        CORRECT.readProvision(withMember(body, "delivery", undefined), rules),
    },
    options: { webhooks: false },
  },
  {
    id: "synchronous-only-code",
    section: "What the service does, 6",
    breaks: ["service.synchronous-only"],
    sentence: "A provider without webhooks calls a delivery an unknown field.",
    plant: answering(hasCode("unsupported_delivery_type"), ({ body }) => ({
      body: body?.replace("unsupported_delivery_type", "invalid_request"),
    })),
    options: { webhooks: false },
  },
  {
    id: "delivery-type-code",
    section: "Errors, Known codes",
    breaks: ["errors.delivery-type"],
    sentence: "Another type of delivery is an `invalid_request`.",
    plant: answering(hasCode("unsupported_delivery_type"), ({ body }) => ({
      body: body?.replace("unsupported_delivery_type", "invalid_request"),
    })),
  },
  {
    id: "delivery-less",
    section: INPUT,
    breaks: ["resources.delivery-input.required"],
    sentence: "A registration id may be missing.",
    plant: readingDelivery((delivery) =>
      memberOf(delivery, "registration_id") === undefined
        ? withMember(delivery, "registration_id", ID)
        : delivery,
    ),
  },
  {
    id: "delivery-more",
    section: INPUT,
    breaks: ["resources.delivery-input.additional"],
    sentence: "Unknown fields of a delivery are ignored.",
    plant: readingDelivery((delivery) =>
      onlyKnown(delivery, ["type", "url", "registration_id", "signing_secret"]),
    ),
  },
  {
    id: "registration-any",
    section: INPUT,
    breaks: ["resources.delivery-input.registration-id"],
    sentence: "Any text is a registration id.",
    plant: readingDelivery((delivery) =>
      parseIdentifier(String(memberOf(delivery, "registration_id"))) === undefined
        ? withMember(delivery, "registration_id", ID)
        : delivery,
    ),
  },
  {
    id: "secret-any",
    section: INPUT,
    breaks: ["resources.delivery-input.secret"],
    sentence: "A secret of any length is accepted.",
    plant: readingDelivery((delivery) =>
      /^whsec_[\w+/=-]+$/.test(String(memberOf(delivery, "signing_secret"))) &&
      String(memberOf(delivery, "signing_secret")).length !== SECRET.length
        ? withMember(delivery, "signing_secret", SECRET)
        : delivery,
    ),
  },
  {
    id: "secret-shown",
    section: "Resources, WebhookDelivery",
    breaks: ["resources.delivery.shape", "resources.instance.no-secrets"],
    sentence: "Reading an instance shows the signing secret.",
    plant: {
      showDelivery: (members, { signingSecret }) => ({
        ...members,
        signing_secret: JSON.stringify(signingSecret),
      }),
    },
  },
  {
    id: "secret-in-url",
    section: "Resources, WebhookDelivery",
    breaks: ["resources.instance.no-secrets"],
    sentence: "The URL of a delivery is shown with the secret in its query.",
    plant: {
      showDelivery: (members, { url, signingSecret }) => ({
        ...members,
        url: JSON.stringify(`${url.text}&secret=${signingSecret}`),
      }),
    },
  },
  {
    id: "delivery-url-cut",
    section: "Resources, WebhookDelivery",
    breaks: ["resources.instance.delivery", "resources.delivery.shape"],
    sentence: "A delivery shows its URL without the query.",
    plant: {
      showDelivery: (members, { url }) => ({
        ...members,
        url: JSON.stringify(url.text.replace(/\?.*/, "")),
      }),
    },
  },
  {
    id: "delivery-registration-other",
    section: "Resources, WebhookDelivery",
    breaks: ["resources.delivery.shape", "resources.instance.delivery"],
    sentence: "A delivery shows a registration id of the provider's own.",
    plant: { showDelivery: (members) => ({ ...members, registration_id: JSON.stringify(ID) }) },
  },
];

const URLS: readonly Fault[] = [
  {
    id: "url-plain-http",
    section: `${URL_RULES}, 1`,
    breaks: ["resources.webhook-url.syntax"],
    sentence: "A URL of plain HTTP gets as far as the verification.",
    plant: readingDelivery((delivery) => {
      const url = String(memberOf(delivery, "url"));
      return url.startsWith("http:") ? withMember(delivery, "url", "https://localhost:1") : delivery;
    }),
  },
  {
    id: "url-userinfo",
    section: `${URL_RULES}, 1`,
    breaks: ["resources.webhook-url.syntax"],
    sentence: "User and password of a URL are dropped.",
    plant: readingDelivery((delivery) => {
      const url = String(memberOf(delivery, "url"));
      return withMember(delivery, "url", url.replace(/^(https:\/\/)[^/@]*@/, "$1"));
    }),
  },
  {
    id: "url-fragment",
    section: `${URL_RULES}, 1`,
    breaks: ["resources.webhook-url.syntax"],
    sentence: "The fragment of a URL is dropped.",
    plant: readingDelivery((delivery) => {
      const url = String(memberOf(delivery, "url"));
      return withMember(delivery, "url", url.replace(/#.*$/, ""));
    }),
  },
  {
    id: "url-code",
    section: "Errors, Known codes",
    breaks: ["resources.webhook-url.syntax", "resources.webhook-url.addresses"],
    sentence: "A bad URL is an `invalid_request`.",
    plant: answering(hasCode("invalid_webhook_url"), ({ body }) => ({
      body: body?.replace("invalid_webhook_url", "invalid_request"),
    })),
  },
  {
    id: "address-any",
    section: `${URL_RULES}, 2`,
    breaks: ["resources.webhook-url.addresses"],
    sentence: "Private addresses are connected to.",
    plant: { isPublic: () => true },
    options: { attemptMs: 500 },
  },
  {
    id: "address-v6",
    section: `${URL_RULES}, 2`,
    breaks: ["resources.webhook-url.addresses"],
    sentence: "Addresses of IPv6 are not judged.",
    plant: { isPublic: (address) => address.includes(":") || CORRECT.isPublic(address) },
    options: { attemptMs: 500 },
  },
  {
    id: "address-metadata",
    section: `${URL_RULES}, 2`,
    breaks: ["resources.webhook-url.addresses"],
    sentence: "The metadata address is not judged.",
    plant: { isPublic: (address) => address === "169.254.169.254" || CORRECT.isPublic(address) },
    options: { attemptMs: 500 },
  },
  {
    id: "certificate-any",
    section: `${URL_RULES}, 1`,
    breaks: ["resources.webhook-url.certificate"],
    sentence: "The certificate of a receiver is not looked at.",
    plant: { trusts: () => true },
  },
];

/** Where a redirect leads, if it is one. */
function location({ status, headers }: Reply): string | undefined {
  const to = String(headers.location ?? "");
  return status >= 300 && status < 400 && parseWebhookUrl(to, { internalNames: true })
    ? to
    : undefined;
}

const PROOFS: readonly Fault[] = [
  {
    id: "verification-missing",
    section: PROVISION,
    breaks: ["endpoints.provision.verified-first", "endpoints.provision.verification-failed"],
    sentence: "Receivers are not verified.",
    plant: { verification: () => [], proves: () => true },
  },
  {
    id: "verification-not-awaited",
    section: PROVISION,
    breaks: ["endpoints.provision.verification-failed", "endpoints.update.verification-failed"],
    sentence: "Whatever a receiver answers, it is taken.",
    plant: { proves: () => true },
  },
  {
    id: "verification-bare",
    section: `${VERIFICATION}, 2`,
    breaks: ["events.verification.challenge-required"],
    sentence: "A 2xx proves a receiver, whatever its body.",
    plant: { proves: ({ status }) => status >= 200 && status < 300 },
  },
  {
    id: "verification-other-challenge",
    section: `${VERIFICATION}, 2`,
    breaks: ["events.verification.challenge-required"],
    sentence: "Any challenge in a 200 proves a receiver.",
    plant: { proves: ({ status, body }) => status === 200 && body.includes('"challenge"') },
  },
  {
    id: "verification-201",
    section: `${VERIFICATION}, 2`,
    breaks: ["events.verification.challenge-required"],
    sentence: "The challenge in a 201 proves a receiver.",
    plant: {
      proves: (reply, challenge) =>
        CORRECT.proves({ ...reply, status: reply.status === 201 ? 200 : reply.status }, challenge),
    },
  },
  {
    id: "verification-strict-body",
    section: `${VERIFICATION}, 2`,
    breaks: ["events.verification.success"],
    sentence: "A receiver that proves itself is refused, for the body is compared in capitals.",
    plant: { proves: (reply, challenge) => CORRECT.proves(reply, challenge.toUpperCase()) },
  },
  {
    id: "verification-twice",
    section: VERIFICATION,
    breaks: ["events.verification.once"],
    sentence: "The verification is sent twice.",
    plant: { verification: (message) => [message, message] },
  },
  {
    id: "challenge-constant",
    section: VERIFICATION,
    breaks: ["events.verification.challenge"],
    sentence: "Every verification has the same challenge.",
    plant: { challenge: () => ID },
  },
  {
    id: "challenge-is-instance",
    section: VERIFICATION,
    breaks: ["events.verification.challenge"],
    sentence: "The challenges of an instance are its id.",
    plant: {
      challenge: () => ID,
      verificationMembers: (members) => ({ ...members, challenge: JSON.stringify(ID) }),
    },
  },
  {
    id: "verification-without-instance",
    section: VERIFICATION,
    breaks: ["events.verification.shape"],
    sentence: "A verification does not say for which instance it is.",
    plant: { verificationMembers: (members) => ({ ...members, instance_id: undefined }) },
  },
  {
    id: "verification-with-url",
    section: VERIFICATION,
    breaks: ["events.verification.shape"],
    sentence: "A verification shows the URL.",
    plant: {
      verificationMembers: (members, { url }) => ({ ...members, url: JSON.stringify(url.text) }),
    },
  },
  {
    id: "verification-registration-other",
    section: VERIFICATION,
    breaks: ["events.verification.shape"],
    sentence: "A verification names another registration.",
    plant: {
      verificationMembers: (members) => ({ ...members, registration_id: JSON.stringify(ID) }),
    },
  },
  {
    id: "verification-redirected",
    section: `${VERIFICATION}, 2`,
    breaks: ["events.verification.redirect", "resources.webhook-url.redirects"],
    sentence: "The redirect of a verification is followed.",
    plant: { redirect: location },
  },
  {
    id: "verification-by-old-secret",
    section: VERIFICATION,
    breaks: ["authentication.signature.value"],
    sentence: "The verification of a new receiver is signed with the secret of the old one.",
    plant: {
      verification: (message, current) => [
        {
          ...message,
          receiver: {
            ...message.receiver,
            signingSecret: current?.signingSecret ?? message.receiver.signingSecret,
          },
        },
      ],
    },
  },
  {
    id: "verification-to-old-url",
    section: VERIFICATION,
    breaks: ["endpoints.update.delivery.replaced", "authentication.signature.value"],
    sentence: "The verification of a new receiver is sent to the old one.",
    plant: {
      verification: (message, current) => [
        {
          ...message,
          receiver: { ...message.receiver, url: current?.url ?? message.receiver.url },
        },
      ],
    },
  },
  {
    id: "verification-patient",
    section: `${VERIFICATION}, 2`,
    breaks: ["events.verification.deadline"],
    sentence: "A receiver is waited for for thirty seconds.",
    plant: {},
    options: { attemptMs: 30_000 },
  },
];

const COMMITS: readonly Fault[] = [
  {
    id: "failure-keeps-key",
    section: PROVISION,
    breaks: ["endpoints.provision.retry-after-failure", "endpoints.update.verification-failed"],
    sentence: "A failed verification is repeated from memory for its key.",
    plant: { keepsFailed: () => true },
  },
  {
    id: "failure-status",
    section: "Errors, Known codes",
    breaks: ["endpoints.provision.verification-failed", "errors.codes"],
    sentence: "A failed verification is a 400.",
    plant: answering(hasCode("webhook_verification_failed"), () => ({ status: 400 })),
  },
  {
    id: "failure-param",
    section: "Errors, Known codes",
    breaks: ["errors.verification.param"],
    sentence: "A failed verification names no field.",
    plant: refusing(({ param: _, ...error }) => error, hasCode("webhook_verification_failed")),
  },
  {
    id: "failure-shows-secret",
    section: "Errors, Envelope",
    breaks: ["resources.instance.no-secrets"],
    sentence: "A failed verification shows the secret that was proposed.",
    plant: {
      proves(reply, challenge) {
        return CORRECT.proves(reply, challenge);
      },
    },
  },
  {
    id: "replay-verifies",
    section: PROVISION,
    breaks: ["endpoints.provision.replay-unverified", "events.verification.once"],
    sentence: "A replayed provisioning verifies again.",
    plant: { verifiesReplay: (operation) => operation === "provisionInstance" },
  },
  {
    id: "update-replay-verifies",
    section: UPDATE,
    breaks: ["endpoints.update.replay-unverified"],
    sentence: "A replayed update verifies again.",
    plant: { verifiesReplay: (operation) => operation === "updateInstance" },
  },
  {
    id: "provision-not-coalesced",
    section: PROVISION,
    breaks: ["endpoints.provision.coalesced"],
    sentence: "Concurrent provisionings with one key verify each for itself.",
    plant: { pause: (operation) => (operation === "provisionInstance" ? sleep(15) : undefined) },
  },
  {
    id: "update-not-coalesced",
    section: UPDATE,
    breaks: ["endpoints.update.coalesced"],
    sentence: "Concurrent updates with one key verify each for itself.",
    plant: { pause: (operation) => (operation === "updateInstance" ? sleep(15) : undefined) },
  },
];

export const RECEIVER_FAULTS: readonly Fault[] = [...INPUTS, ...URLS, ...PROOFS, ...COMMITS];
