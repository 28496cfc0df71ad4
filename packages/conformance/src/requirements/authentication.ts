import type { RequirementTable } from "./requirement.ts";

const SECTION = "Authentication";

export const AUTHENTICATION = {
  "authentication.bearer": {
    source: `${SECTION}, 1`,
    text: "A credential counts in `Authorization: Bearer` alone.",
    check: "scenario",
  },
  "authentication.missing": {
    source: `${SECTION}, 4`,
    text: "Every operation without a credential is a 401.",
    check: "scenario",
  },
  "authentication.invalid": {
    source: `${SECTION}, 4`,
    text: "Every operation with a credential that nobody issued is a 401.",
    check: "scenario",
  },
  "authentication.revoked": {
    source: `${SECTION}, 4`,
    text: "Every operation with a revoked credential is a 401.",
    check: "scenario",
  },
  "authentication.expired": {
    source: `${SECTION}, 4`,
    text: "An expired credential is a 401.",
    check: "scenario",
  },
  "authentication.provisioner-kind": {
    source: `${SECTION}, 2`,
    text: "A provisioner token on an approval operation is a 403.",
    check: "scenario",
  },
  "authentication.instance-kind": {
    source: `${SECTION}, 2`,
    text: "An instance credential on an instance operation is a 403.",
    check: "scenario",
  },
  "authentication.scope": {
    source: `${SECTION}, 2`,
    text: "A provisioner token reaches the instances of its scope alone; others are a 404.",
    check: "scenario",
  },
  "authentication.own-requests": {
    source: `${SECTION}, 2`,
    text:
      "An instance credential reaches the requests of its own instance alone; others are a " +
      "404.",
    check: "scenario",
  },
  "authentication.identity": {
    source: `${SECTION}, 3`,
    text: "The instance of a request is that of the credential which submitted it.",
    check: "scenario",
  },
  "authentication.issuing": {
    source: `${SECTION}, 6 and 7`,
    text: "How provisioner tokens are issued and scoped is the provider's own.",
    untestable: "the contract does not say",
  },
  "authentication.signature.headers": {
    source: "Endpoints, Webhook operations",
    text: "A message is a POST with `webhook-id`, `webhook-timestamp` and `webhook-signature`.",
    check: "every message",
  },
  "authentication.signature.value": {
    source: `${SECTION}, 5`,
    text:
      "A message is signed: HMAC-SHA256 of id, timestamp and exact body under the decoded " +
      "secret.",
    check: "every message",
  },
  "authentication.signature.timestamp": {
    source: `${SECTION}, 5`,
    text:
      "The timestamp of a message is that of the attempt, within five minutes of the " +
      "receiver's.",
    check: "every message",
  },
  "authentication.signature.fresh": {
    source: `${SECTION}, 5`,
    text: "Every attempt has a fresh timestamp and signature.",
    check: "scenario",
  },
  "authentication.signature.no-credentials": {
    source: `${SECTION}, 5`,
    text: "A message carries no instance credential and no provisioner token.",
    check: "every message",
  },
} as const satisfies RequirementTable;
