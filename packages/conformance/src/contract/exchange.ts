/** Rules for every operation: service, scalar formats, credentials, errors, limits. */

import type { RequirementTable } from "./requirement.ts";

export const EXCHANGE = {
  // What the service does
  "service.operations.seven": {
    source: "What the service does, 6",
    text: "The provider serves all seven operations at the method and path of the contract.",
    check: "scenario",
  },
  "service.https.required": {
    source: "What the service does, 5",
    text:
      "Outside local development the provider serves HTTPS only, or runs behind a " +
      "proxy that terminates TLS.",
    check: "scenario",
  },
  "service.body.content-type": {
    source: "What the service does, 5",
    text:
      "The provider accepts a request body only as `application/json`, with or without " +
      "a charset of UTF-8.",
    untestable: "the contract does not say how a provider answers another media type",
  },
  "service.response.unwrapped": {
    source: "What the service does, 5",
    text: "A success response body is the resource itself, without a wrapper object.",
    check: "every answer",
  },
  "service.denied.is-success": {
    source: "What the service does, 4",
    text: "Reading a denied request returns 200 with status `denied`, never an HTTP error.",
    check: "scenario",
  },
  "service.delivery.synchronous-only": {
    source: "What the service does, 6",
    text:
      "A provider without asynchronous mode rejects a delivery with 400 " +
      "`unsupported_delivery_type`.",
    check: "scenario",
  },
  "service.execution": {
    source: "What the service does, 4",
    text:
      "A tool call starts only while its request is `approved` and the approval has " +
      "not expired.",
    untestable: "the rule binds adapters, and a provider starts no tool call",
  },
  // Resources: scalar formats
  "scalar.identifier.format": {
    source: "Resources, Scalar formats",
    text: "Every identifier that the provider assigns is a UUID.",
    check: "every answer",
  },
  "scalar.timestamp.format": {
    source: "Resources, Scalar formats",
    text: "Every timestamp is an RFC 3339 date-time in UTC that ends in `Z`.",
    check: "every answer",
  },
  "scalar.duration.accepted": {
    source: "Resources, Scalar formats",
    text: "The provider accepts a positive whole number followed by `s`, `m` or `h` as a duration.",
    check: "scenario",
  },
  "scalar.duration.refused": {
    source: "Resources, Scalar formats",
    text:
      "The provider rejects a duration with zero, a leading zero, a sign, a fraction, " +
      "a space or another unit with 400.",
    check: "scenario",
  },
  "scalar.tool.length": {
    source: "Resources, Scalar formats",
    text:
      "The provider rejects a tool name that is not a string of at least one character " +
      "with 400.",
    check: "scenario",
  },
  "scalar.arguments.object": {
    source: "Resources, Scalar formats",
    text:
      "The provider accepts any JSON object as arguments, the empty one included, and " +
      "rejects other values with 400.",
    check: "scenario",
  },
  "scalar.arguments.exact": {
    source: "Resources, Scalar formats",
    text: "The provider returns arguments with every key, value and type as submitted.",
    check: "scenario",
  },
  "scalar.arguments.numbers": {
    source: "Resources, Scalar formats",
    text: "Numbers in arguments that a binary double cannot hold keep their exact value.",
    check: "scenario",
  },
  "scalar.arguments.spelling": {
    source: "Resources, Scalar formats",
    text:
      "Numbers in arguments keep their spelling: 1.10 does not become 1.1, and 1E2 " +
      "does not become 100.",
    check: "scenario",
  },
  "scalar.arguments.strings": {
    source: "Resources, Scalar formats",
    text:
      "Strings and keys in arguments keep every character without normalization, " +
      "including `__proto__` and NUL.",
    check: "scenario",
  },
  "scalar.arguments.nesting": {
    source: "Resources, Scalar formats",
    text:
      "The provider returns nested objects and arrays in arguments complete, or " +
      "rejects the submission.",
    check: "scenario",
  },
  "scalar.arguments.ambiguous": {
    source: "Resources, Scalar formats",
    text: "The provider rejects ambiguous JSON, such as a duplicate key, or returns it complete.",
    check: "scenario",
  },
  "scalar.reasoning.string": {
    source: "Resources, Scalar formats",
    text:
      "The agent's reasoning is a string of any length, which the provider returns as " +
      "submitted.",
    check: "scenario",
  },
  "scalar.context.object": {
    source: "Resources, Scalar formats",
    text: "The provider rejects a context that is not a JSON object with 400.",
    check: "scenario",
  },
  "scalar.context.exact": {
    source: "Resources, Scalar formats",
    text: "The provider returns a context exactly as submitted.",
    check: "scenario",
  },
  "scalar.context.identity": {
    source: "Resources, Scalar formats",
    text: "A context that names an instance does not change the instance of the request.",
    check: "scenario",
  },
  // Endpoints: every exchange
  "exchange.request-id": {
    source: "Endpoints",
    text: "Every response has the header `X-Request-ID`, a UUID that no other exchange has.",
    check: "every answer",
  },
  "exchange.answer-per-message": {
    source: "Endpoints, Every response",
    text:
      "Every complete request gets its own response, in order, whatever bytes follow " +
      "it on the connection.",
    untestable: "the kit sends one request at a time on a connection",
  },
  "exchange.content-type": {
    source: "Endpoints",
    text: "Every success response except 204 has the media type `application/json`.",
    check: "every answer",
  },
  "exchange.path-id": {
    source: "Endpoints, Provider operations",
    text: "A path id that is not a UUID returns 404, or 400 where the operation lists it.",
    check: "scenario",
  },
  "exchange.statuses": {
    source: "Endpoints",
    text:
      "Each operation returns only the success and error statuses that the contract " +
      "lists for it.",
    check: "every answer",
  },
  // Authentication
  "auth.bearer": {
    source: "Authentication, 1",
    text: "The provider accepts a credential only in the header `Authorization: Bearer`.",
    check: "scenario",
  },
  "auth.missing": {
    source: "Authentication, 4",
    text: "Every operation without a credential returns 401.",
    check: "scenario",
  },
  "auth.invalid": {
    source: "Authentication, 4",
    text: "Every operation with a malformed or unknown credential returns 401.",
    check: "scenario",
  },
  "auth.revoked": {
    source: "Authentication, 4",
    text: "Every operation with a revoked credential returns 401.",
    check: "scenario",
  },
  "auth.expired": {
    source: "Authentication, 4",
    text: "An expired credential returns 401.",
    check: "scenario",
  },
  "auth.provisioner.not-requests": {
    source: "Authentication, 2",
    text: "A provisioner token on an approval operation returns 403.",
    check: "scenario",
  },
  "auth.instance.not-instances": {
    source: "Authentication, 2",
    text: "An instance credential on an instance operation, provisioning included, returns 403.",
    check: "scenario",
  },
  "auth.provisioner.scope": {
    source: "Authentication, 2",
    text: "A provisioner token has access only to the instances of its scope; others return 404.",
    check: "scenario",
  },
  "auth.instance.own-requests": {
    source: "Authentication, 2",
    text:
      "An instance credential has access only to the requests of its own instance; " +
      "others return 404.",
    check: "scenario",
  },
  "auth.instance.identity": {
    source: "Authentication, 3",
    text: "The provider derives the instance of a request from the credential that submitted it.",
    check: "scenario",
  },
  // Errors
  "error.envelope.shape": {
    source: "Errors, Envelope",
    text:
      'An error body is `{"error": {type, code, message, param?, request_id}}` and has ' +
      "no other members.",
    check: "every answer",
  },
  "error.envelope.request-id": {
    source: "Errors, Envelope",
    text: "`error.request_id` equals the header `X-Request-ID` of the response.",
    check: "every answer",
  },
  "error.envelope.type": {
    source: "Errors, Envelope",
    text: "`error.type` is one of the eight types of the contract.",
    check: "every answer",
  },
  "error.envelope.code": {
    source: "Errors, Envelope",
    text: "`error.code` is lowercase snake_case.",
    check: "every answer",
  },
  "error.envelope.message": {
    source: "Errors, Envelope",
    text:
      "`error.message` has at least one character and no credential, stack trace or " +
      "internal detail.",
    check: "every answer",
  },
  "error.envelope.param": {
    source: "Errors, Envelope",
    text:
      "`error.param`, when present, names the invalid input field and has at least one " +
      "character.",
    check: "every answer",
  },
  "error.malformed": {
    source: "Errors, Status codes",
    text: "The provider rejects a body that is not JSON with 400.",
    check: "scenario",
  },
  "error.retry-after": {
    source: "Errors, Status codes",
    text: "`Retry-After` on a 429 or 503 is a number of seconds or an HTTP date.",
    check: "every answer",
  },
  "error.codes": {
    source: "Errors, Known codes",
    text:
      "Each known code has the status that the contract gives it, and its type where " +
      "the contract names one.",
    check: "every answer",
  },
  "error.rate-limited": {
    source: "Errors, Status codes",
    text: "A caller that must slow down gets 429.",
    untestable: "the contract leaves the rates to the provider, and reaching them disturbs it",
  },
  "error.internal": {
    source: "Errors, Status codes",
    text: "A provider that cannot complete an operation returns 500 and approves nothing.",
    untestable: "the kit cannot make the provider fail",
  },
  "error.unavailable": {
    source: "Errors, Status codes",
    text: "A provider that is temporarily unavailable returns 503.",
    untestable: "the kit cannot make the provider fail",
  },
  // Limits and versioning
  "limit.key.one-character": {
    source: "Limits",
    text: "The provider accepts an `Idempotency-Key` of one character.",
    check: "scenario",
  },
  "version.prefix": {
    source: "Versioning, 1",
    text: "Every provider path starts with `/v1`; without the prefix there is no operation.",
    check: "scenario",
  },
  "version.description": {
    source: "Versioning, 1",
    text: "The machine-readable description has the version 1.0.0.",
    untestable: "the contract does not say where the description is served",
  },
} as const satisfies RequirementTable;
