/**
 * Faults of proving receivers, and of what is committed then.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { parseWebhookUrl } from "@countersign/protocol";
import type { Reply } from "../conduct-delivery.ts";
import { answering, CORRECT, type Fault, hasCode, refusing } from "./fault.ts";

const PROVISION = "Endpoints, POST /v1/instances";
const UPDATE = "Endpoints, PATCH /v1/instances/{id}";
const VERIFICATION = "Events, webhook.verification";

const ID = "0d9c7f0e-4f0c-4f0e-9f0e-0d9c7f0e4f0c";

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
    breaks: ["delivery.provision.verified-first", "delivery.provision.failed"],
    sentence: "Receivers are not verified.",
    plant: { verification: () => [], proves: () => true },
  },
  {
    id: "committed-before-proof",
    section: VERIFICATION,
    breaks: ["verification.reserved-id"],
    sentence: "An instance can be read while its receiver is still asked.",
    plant: { commitsFirst: () => true },
  },
  {
    id: "verification-not-awaited",
    section: PROVISION,
    breaks: ["delivery.provision.failed", "delivery.update.failed"],
    sentence: "The provider accepts any answer of a receiver.",
    plant: { proves: () => true },
    seenBy: ["receiver.refused"],
  },
  {
    id: "verification-bare",
    section: `${VERIFICATION}, 2`,
    breaks: ["verification.bare-2xx"],
    sentence: "A 2xx with any body proves a receiver.",
    plant: { proves: ({ status }) => status >= 200 && status < 300 },
  },
  {
    id: "verification-other-challenge",
    section: `${VERIFICATION}, 2`,
    breaks: ["verification.bare-2xx"],
    sentence: "Any challenge in a 200 proves a receiver.",
    plant: { proves: ({ status, body }) => status === 200 && body.includes('"challenge"') },
  },
  {
    id: "verification-201",
    section: `${VERIFICATION}, 2`,
    breaks: ["verification.bare-2xx"],
    sentence: "The challenge in a 201 proves a receiver.",
    plant: {
      proves: (reply, challenge) =>
        CORRECT.proves({ ...reply, status: reply.status === 201 ? 200 : reply.status }, challenge),
    },
  },
  {
    id: "verification-strict-body",
    section: `${VERIFICATION}, 2`,
    breaks: ["verification.success"],
    sentence: "A correct receiver is rejected, because the body is compared in upper case.",
    plant: { proves: (reply, challenge) => CORRECT.proves(reply, challenge.toUpperCase()) },
  },
  {
    id: "verification-twice",
    section: VERIFICATION,
    breaks: ["verification.once"],
    sentence: "The verification is sent twice.",
    plant: { verification: (message) => [message, message] },
  },
  {
    id: "challenge-constant",
    section: VERIFICATION,
    breaks: ["verification.challenge.fresh"],
    sentence: "Every verification has the same challenge.",
    plant: { challenge: () => ID },
  },
  {
    id: "challenge-is-instance",
    section: VERIFICATION,
    breaks: ["verification.challenge.fresh"],
    sentence: "The challenges of an instance are its id.",
    plant: {
      challenge: () => ID,
      verificationMembers: (members) => ({ ...members, challenge: JSON.stringify(ID) }),
    },
  },
  {
    id: "verification-without-instance",
    section: VERIFICATION,
    breaks: ["verification.body"],
    sentence: "A verification does not say for which instance it is.",
    plant: { verificationMembers: (members) => ({ ...members, instance_id: undefined }) },
    seenBy: ["receiver.verified"],
  },
  {
    id: "verification-with-url",
    section: VERIFICATION,
    breaks: ["verification.body"],
    sentence: "A verification shows the URL.",
    plant: {
      verificationMembers: (members, { url }) => ({ ...members, url: JSON.stringify(url.text) }),
    },
  },
  {
    id: "verification-registration-other",
    section: VERIFICATION,
    breaks: ["verification.body"],
    sentence: "A verification names another registration.",
    plant: {
      verificationMembers: (members) => ({ ...members, registration_id: JSON.stringify(ID) }),
    },
  },
  {
    id: "verification-redirected",
    section: `${VERIFICATION}, 2`,
    breaks: ["delivery.url.no-redirects"],
    sentence: "The redirect of a verification is followed.",
    plant: { redirect: location },
  },
  {
    id: "verification-by-old-secret",
    section: VERIFICATION,
    breaks: ["signature.value"],
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
    breaks: ["delivery.update.replaces", "signature.value"],
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
    breaks: ["verification.success"],
    sentence: "The provider waits thirty seconds for a receiver.",
    plant: {},
    options: { attemptMs: 30_000 },
  },
];

const COMMITS: readonly Fault[] = [
  {
    id: "failure-keeps-key",
    section: PROVISION,
    breaks: ["delivery.provision.retry-after-failure", "delivery.update.failed"],
    sentence: "A failed verification is repeated from memory for its key.",
    plant: { keepsFailed: () => true },
  },
  {
    id: "failure-status",
    section: "Errors, Known codes",
    breaks: ["delivery.provision.failed", "error.codes"],
    sentence: "A failed verification is a 400.",
    plant: answering(hasCode("webhook_verification_failed"), () => ({ status: 400 })),
    seenBy: ["receiver.retry-after-failure"],
  },
  {
    id: "failure-param",
    section: "Errors, Known codes",
    breaks: ["delivery.provision.failed"],
    sentence: "A failed verification names no field.",
    plant: refusing(({ param: _, ...error }) => error, hasCode("webhook_verification_failed")),
  },
  {
    id: "failure-shows-secret",
    section: "Errors, Envelope",
    breaks: ["instance.read.no-secrets"],
    sentence: "A failed verification shows the secret that was proposed.",
    plant: refusing(
      (error, { sent }) => ({ ...error, message: `The receiver was not proven: ${sent}` }),
      hasCode("webhook_verification_failed"),
    ),
    seenBy: ["receiver.retry-after-failure"],
  },
  {
    id: "replay-verifies",
    section: PROVISION,
    breaks: ["delivery.provision.replay-no-verification", "verification.once"],
    sentence: "A replayed provisioning verifies again.",
    plant: { verifiesReplay: (operation) => operation === "provisionInstance" },
  },
  {
    id: "update-replay-verifies",
    section: UPDATE,
    breaks: ["delivery.update.replay-no-verification"],
    sentence: "A replayed update verifies again.",
    plant: { verifiesReplay: (operation) => operation === "updateInstance" },
  },
  {
    id: "provision-not-coalesced",
    section: PROVISION,
    breaks: ["delivery.provision.coalesced"],
    sentence: "Concurrent provisionings with one key verify each for itself.",
    plant: { pause: (operation) => (operation === "provisionInstance" ? sleep(1_000) : undefined) },
  },
  {
    id: "update-not-coalesced",
    section: UPDATE,
    breaks: ["delivery.update.coalesced"],
    sentence: "Concurrent updates with one key verify each for itself.",
    plant: { pause: (operation) => (operation === "updateInstance" ? sleep(1_000) : undefined) },
  },
];

export const VERIFICATION_FAULTS: readonly Fault[] = [...PROOFS, ...COMMITS];
