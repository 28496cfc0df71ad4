import type { RequirementTable } from "./requirement.ts";

const SCALARS = "Resources, Scalar formats";
const REQUEST = "Resources, ApprovalRequest";
const CREATE = "Resources, CreateApprovalRequest";
const DECISION = "Resources, Decision";
const INSTANCE = "Resources, Instance";
const INPUT = "Resources, WebhookDeliveryInput";
const URL_RULES = "Resources, WebhookURL rules";
const PROVISION = "Resources, ProvisionInstanceRequest";
const UPDATE = "Resources, UpdateInstanceRequest";

export const RESOURCES = {
  "resources.identifier": {
    source: SCALARS,
    text: "Every identifier that the provider assigns is a UUID.",
    check: "every answer",
  },
  "resources.timestamp": {
    source: SCALARS,
    text: "Every timestamp is an RFC 3339 date-time in UTC that ends in `Z`.",
    check: "every answer",
  },
  "resources.duration.accepted": {
    source: SCALARS,
    text: "A positive whole number followed by `s`, `m` or `h` is a duration.",
    check: "scenario",
  },
  "resources.duration.refused": {
    source: SCALARS,
    text: "Zero, a leading zero, a sign, a fraction, a space and another unit make no duration.",
    check: "scenario",
  },
  "resources.tool": {
    source: SCALARS,
    text: "A tool name is a string of at least one character.",
    check: "scenario",
  },
  "resources.arguments.object": {
    source: SCALARS,
    text: "Arguments are a JSON object, and any JSON object, the empty one included.",
    check: "scenario",
  },
  "resources.arguments.values": {
    source: SCALARS,
    text: "Arguments come back with every key, value and type as they were submitted.",
    check: "scenario",
  },
  "resources.arguments.numbers": {
    source: SCALARS,
    text: "Numbers beyond what a binary double holds come back with their exact value.",
    check: "scenario",
  },
  "resources.arguments.spelling": {
    source: SCALARS,
    text: "Numbers keep their spelling: 1.10 does not become 1.1, nor 1E2 100.",
    check: "scenario",
  },
  "resources.arguments.strings": {
    source: SCALARS,
    text: "Strings and keys keep every character, unnormalised, `__proto__` and NUL included.",
    check: "scenario",
  },
  "resources.arguments.nesting": {
    source: SCALARS,
    text: "Nested objects and arrays come back whole, or the submission is refused.",
    check: "scenario",
  },
  "resources.arguments.ambiguous": {
    source: SCALARS,
    text:
      "JSON that two readers read differently, like a repeated key, is refused or comes back " +
      "whole.",
    check: "scenario",
  },
  "resources.reasoning": {
    source: SCALARS,
    text: "The agent's reasoning is a string, kept as it was submitted.",
    check: "scenario",
  },
  "resources.context.object": {
    source: SCALARS,
    text: "A context is a JSON object.",
    check: "scenario",
  },
  "resources.context.values": {
    source: SCALARS,
    text: "A context comes back exactly as it was submitted.",
    check: "scenario",
  },
  "resources.context.identity": {
    source: SCALARS,
    text: "What a context says does not change whose request it is.",
    check: "scenario",
  },
  "resources.instance.shape": {
    source: INSTANCE,
    text:
      "An instance has an id, a name of at least one character, perhaps a delivery, nothing " +
      "else.",
    check: "every answer",
  },
  "resources.instance.no-secrets": {
    source: INSTANCE,
    text:
      "No credential or signing secret is in an answer, but for the token in that of " +
      "provisioning.",
    check: "every answer",
  },
  "resources.instance.name.assigned": {
    source: INSTANCE,
    text: "An instance that was provisioned without a name has one.",
    check: "scenario",
  },
  "resources.instance.delivery": {
    source: INSTANCE,
    text: "`delivery` is there exactly while a receiver is configured.",
    check: "scenario",
  },
  "resources.delivery.shape": {
    source: "Resources, WebhookDelivery",
    text:
      "A delivery shows type, URL and registration id as they were submitted, and nothing " +
      "else.",
    check: "every answer",
  },
  "resources.delivery-input.required": {
    source: INPUT,
    text: "A proposed delivery has type, URL, registration id and signing secret, all required.",
    check: "scenario",
  },
  "resources.delivery-input.additional": {
    source: INPUT,
    text: "A proposed delivery with an unknown property is refused with 400.",
    check: "scenario",
  },
  "resources.delivery-input.registration-id": {
    source: INPUT,
    text: "A registration id that is no UUID is refused with 400.",
    check: "scenario",
  },
  "resources.delivery-input.secret": {
    source: INPUT,
    text:
      "A secret that is not `whsec_` and canonical padded base64 of 32 bytes is refused with " +
      "400.",
    check: "scenario",
  },
  "resources.webhook-url.syntax": {
    source: `${URL_RULES}, 1`,
    text:
      "A receiver URL that is not HTTPS, or has userinfo or a fragment, is " +
      "`invalid_webhook_url`.",
    check: "scenario",
  },
  "resources.webhook-url.addresses": {
    source: `${URL_RULES}, 2`,
    text: "Loopback, private, link-local, metadata and other non-public addresses are refused.",
    check: "scenario",
  },
  "resources.webhook-url.certificate": {
    source: `${URL_RULES}, 1`,
    text: "HTTPS is meant: a receiver whose certificate is not trusted gets no message.",
    check: "scenario",
  },
  "resources.webhook-url.every-connection": {
    source: `${URL_RULES}, 2`,
    text: "Addresses are checked before every connection, whatever DNS answers by then.",
    untestable: "the kit owns no name whose DNS answers it could change",
  },
  "resources.webhook-url.redirects": {
    source: `${URL_RULES}, 3`,
    text: "A redirect of a receiver is never followed.",
    check: "scenario",
  },
  "resources.credential.shape": {
    source: "Resources, IssuedCredential",
    text: "A credential has a token of at least one character, perhaps `expires_at`, nothing else.",
    check: "every answer",
  },
  "resources.provision-response.shape": {
    source: "Resources, ProvisionInstanceResponse",
    text: "Provisioning answers the instance and its credential, nothing else.",
    check: "every answer",
  },
  "resources.create.required": {
    source: CREATE,
    text: "A submission without `tool`, `arguments` or `timeout` is refused with 400.",
    check: "scenario",
  },
  "resources.create.types": {
    source: CREATE,
    text: "A submission with a field of the wrong type, null included, is refused with 400.",
    check: "scenario",
  },
  "resources.create.additional": {
    source: CREATE,
    text: "A submission with an unknown property, `delivery` included, is refused with 400.",
    check: "scenario",
  },
  "resources.create.body": {
    source: CREATE,
    text: "A submission whose body is missing or no JSON object is refused with 400.",
    check: "scenario",
  },
  "resources.request.shape": {
    source: REQUEST,
    text:
      "A request has the fields of the contract and no others; what was not submitted is " +
      "absent.",
    check: "every answer",
  },
  "resources.request.as-submitted": {
    source: REQUEST,
    text: "Tool, arguments, timeout, reasoning and context are answered as they were submitted.",
    check: "scenario",
  },
  "resources.request.deadline": {
    source: REQUEST,
    text: "`deadline_at` is later than `created_at`.",
    check: "every answer",
  },
  "resources.request.immutable": {
    source: REQUEST,
    text: "Nothing of a request but status and decision changes when it is decided.",
    check: "scenario",
  },
  "resources.request.decision": {
    source: REQUEST,
    text:
      "A decision is absent while pending, required when terminal, and has the request's " +
      "status.",
    check: "every answer",
  },
  "resources.decision.shape": {
    source: DECISION,
    text:
      "A decision has a status, `decided_at`, perhaps a note and perhaps an expiry, nothing " +
      "else.",
    check: "every answer",
  },
  "resources.decision.expiry": {
    source: DECISION,
    text: "An approval expires later than it was decided; no other decision has an `expires_at`.",
    check: "every answer",
  },
  "resources.decision.note": {
    source: DECISION,
    text: "A note leaves the arguments as they were.",
    check: "scenario",
  },
  "resources.decision.immutable": {
    source: DECISION,
    text: "A decision reads the same ever after, and replaying or reading does not extend it.",
    check: "scenario",
  },
  "resources.decision.keeps-status": {
    source: DECISION,
    text: "An approval stays `approved` after its `expires_at`.",
    check: "scenario",
  },
  "resources.provision.empty-object": {
    source: PROVISION,
    text: "An empty object provisions an instance.",
    check: "scenario",
  },
  "resources.provision.name": {
    source: PROVISION,
    text: "`instance_name` is a string of at least one character and becomes the name.",
    check: "scenario",
  },
  "resources.provision.additional": {
    source: PROVISION,
    text: "A provisioning with an unknown property is refused with 400.",
    check: "scenario",
  },
  "resources.provision.body": {
    source: PROVISION,
    text: "A provisioning whose body is missing or no JSON object is refused with 400.",
    check: "scenario",
  },
  "resources.update.name": {
    source: UPDATE,
    text: "In an update `instance_name` is a string of at least one character.",
    check: "scenario",
  },
  "resources.update.additional": {
    source: UPDATE,
    text: "An update with an unknown property is refused with 400.",
    check: "scenario",
  },
  "resources.update.not-empty": {
    source: UPDATE,
    text: "An update without any property is refused with 400.",
    check: "scenario",
  },
} as const satisfies RequirementTable;
