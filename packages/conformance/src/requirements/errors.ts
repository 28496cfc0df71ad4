import type { RequirementTable } from "./requirement.ts";

const ENVELOPE = "Errors, Envelope";
const STATUS = "Errors, Status codes";
const CODES = "Errors, Known codes";

export const ERRORS = {
  "errors.envelope.shape": {
    source: ENVELOPE,
    text: "An error is `{error: {type, code, message, param?, request_id}}` and nothing else.",
    check: "every answer",
  },
  "errors.envelope.request-id": {
    source: ENVELOPE,
    text: "`error.request_id` equals `X-Request-ID`.",
    check: "every answer",
  },
  "errors.envelope.type": {
    source: ENVELOPE,
    text: "The type is one of the eight of the contract.",
    check: "every answer",
  },
  "errors.envelope.code": {
    source: ENVELOPE,
    text: "The code is lower-case snake case.",
    check: "every answer",
  },
  "errors.envelope.message": {
    source: ENVELOPE,
    text: "The message has at least one character and shows no credential or stack trace.",
    check: "every answer",
  },
  "errors.envelope.param": {
    source: ENVELOPE,
    text: "A `param`, where there is one, names something.",
    check: "every answer",
  },
  "errors.malformed": {
    source: STATUS,
    text: "A body that is no JSON is a 400.",
    check: "scenario",
  },
  "errors.retry-after": {
    source: STATUS,
    text: "`Retry-After` on 429 and 503 is seconds or an HTTP date.",
    check: "every answer",
  },
  "errors.codes": {
    source: CODES,
    text: "Each known code goes with its status, and where the contract says so with its type.",
    check: "every answer",
  },
  "errors.verification.param": {
    source: CODES,
    text: "The `param` of `webhook_verification_failed` is `delivery`.",
    check: "scenario",
  },
  "errors.delivery-type": {
    source: CODES,
    text: "Another delivery type than `webhook` is a 400 `unsupported_delivery_type`.",
    check: "scenario",
  },
  "errors.internal": {
    source: STATUS,
    text: "A provider that cannot complete an operation answers 500 or 503, and approves nothing.",
    untestable: "the kit cannot make the provider fail",
  },
  "errors.rate-limited": {
    source: STATUS,
    text: "A caller that must slow down gets 429.",
    untestable: "the contract leaves the numbers to the provider, and trying them disturbs it",
  },
  "limits.key.one-character": {
    source: "Limits",
    text: "An `Idempotency-Key` of one character is enough.",
    check: "scenario",
  },
  "limits.bounded": {
    source: "Limits, Other rules, 1",
    text: "Registration and delivery are rate limited; concurrency and sizes are bounded.",
    untestable: "the numbers are the provider's own",
  },
  "versioning.prefix": {
    source: "Versioning, 1",
    text: "Every path begins with `/v1`; without it there is no operation.",
    check: "scenario",
  },
  "versioning.description": {
    source: "Versioning, 1",
    text: "The machine-readable description carries the version 1.0.0.",
    untestable: "the contract does not say where it is served",
  },
} as const satisfies RequirementTable;
