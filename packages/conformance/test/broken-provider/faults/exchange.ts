/**
 * Faults of every exchange: paths, headers, envelopes.
 */

import { randomUUID } from "node:crypto";
import { errorResponse, Problem } from "@countersign/protocol";
import { answering, CORRECT, type Fault, hasCode, isSuccess, refusing } from "./fault.ts";

const ONE_ID = randomUUID();

const SERVICE: readonly Fault[] = [
  {
    id: "operation-missing",
    section: "What the service does, 6",
    breaks: ["service.operations.seven", "instance.update.renames"],
    sentence: "Updates of instances are not implemented and answer 404.",
    plant: {
      path: (sent) => (sent.startsWith("/v1/instances/") ? `${sent}/none` : sent),
    },
  },
  {
    id: "wrapped",
    section: "What the service does, 5",
    breaks: ["service.response.unwrapped"],
    sentence: "Resources are answered inside of a `data` object.",
    plant: answering(isSuccess, ({ body }) => ({ body: body && `{"data":${body}}` })),
  },
  {
    id: "denied-is-an-error",
    section: "What the service does, 4",
    breaks: ["service.denied.is-success", "request.deny"],
    sentence: "Reading a denied request is a 403.",
    plant: answering(
      ({ operation }, { body = "" }) =>
        operation === "getApprovalRequest" && body.includes('"status":"denied"'),
      (_, { requestId }) => ({
        status: 403,
        body: JSON.stringify(errorResponse(new Problem("forbidden"), requestId)),
      }),
    ),
  },
  {
    id: "prefix-optional",
    section: "Versioning, 1",
    breaks: ["version.prefix"],
    sentence: "The operations answer without `/v1` too.",
    plant: { path: (sent) => (sent.startsWith("/v1/") ? sent : `/v1${sent}`) },
  },
];

const HEADERS: readonly Fault[] = [
  {
    id: "request-id-missing",
    section: "Endpoints",
    breaks: ["exchange.request-id"],
    sentence: "Successes carry no `X-Request-ID`.",
    plant: answering(isSuccess, ({ headers: { "x-request-id": _, ...headers } }) => ({ headers })),
  },
  {
    id: "request-id-missing-without-body",
    section: "Endpoints",
    breaks: ["exchange.request-id"],
    sentence: "A 204 carries no `X-Request-ID`.",
    plant: answering(
      (_, { status }) => status === 204,
      () => ({ headers: {} }),
    ),
  },
  {
    id: "request-id-constant",
    section: "Endpoints",
    breaks: ["exchange.request-id"],
    sentence: "Every exchange has the same `X-Request-ID`.",
    plant: { requestId: () => ONE_ID },
  },
  {
    id: "request-id-no-uuid",
    section: "Endpoints",
    breaks: ["exchange.request-id"],
    sentence: "`X-Request-ID` is a counter with a prefix.",
    plant: { requestId: () => `req_${Math.floor(performance.now() * 1000)}` },
  },
  {
    id: "content-type-text",
    section: "Endpoints",
    breaks: ["exchange.content-type"],
    sentence: "Successes are `text/plain`.",
    plant: answering(
      (about, { body }) => isSuccess(about) && body !== undefined,
      ({ headers }) => ({ headers: { ...headers, "content-type": "text/plain" } }),
    ),
  },
  {
    id: "path-id-refused",
    section: "Endpoints, Provider operations",
    breaks: ["exchange.path-id"],
    sentence: "A path id that is not a UUID causes a 500.",
    plant: answering(
      ({ id, problem }) => id !== "" && problem?.status === 404 && !CORRECT.pathId(id),
      () => ({ status: 500 }),
    ),
  },
  {
    id: "status-not-listed",
    section: "Endpoints",
    breaks: ["exchange.statuses"],
    sentence: "A conflict is a 412, which no operation has.",
    plant: answering(hasCode("idempotency_conflict"), () => ({ status: 412 })),
  },
];

const ENVELOPE: readonly Fault[] = [
  {
    id: "error-flat",
    section: "Errors, Envelope",
    breaks: ["error.envelope.shape"],
    sentence: "The error is the body itself, without `error` around it.",
    plant: answering(
      (about) => !isSuccess(about),
      ({ body = "" }) => ({ body: body.slice('{"error":'.length, -1) }),
    ),
  },
  {
    id: "error-more-at-top",
    section: "Errors, Envelope",
    breaks: ["error.envelope.shape"],
    sentence: "The envelope contains the status beside `error`.",
    plant: answering(
      (about) => !isSuccess(about),
      ({ body = "", status }) => ({ body: `${body.slice(0, -1)},"status":${status}}` }),
    ),
  },
  {
    id: "error-more-inside",
    section: "Errors, Envelope",
    breaks: ["error.envelope.shape"],
    sentence: "The error has an unknown field `details`.",
    plant: refusing((error) => ({ ...error, details: [] })),
  },
  {
    id: "error-no-json",
    section: "Errors, Envelope",
    breaks: ["error.envelope.shape"],
    sentence: "An unauthenticated caller gets an HTML page.",
    plant: answering(
      (_, { status }) => status === 401,
      ({ headers }) => ({
        headers: { ...headers, "content-type": "text/html" },
        body: "<h1>401</h1>",
      }),
    ),
  },
  {
    id: "error-request-id-missing",
    section: "Errors, Envelope",
    breaks: ["error.envelope.shape"],
    sentence: "Errors have no `request_id`.",
    plant: refusing(({ request_id: _, ...error }) => error),
  },
  {
    id: "error-request-id-other",
    section: "Errors, Envelope",
    breaks: ["error.envelope.request-id"],
    sentence: "The `request_id` of an error is not the `X-Request-ID` of its answer.",
    plant: refusing((error) => ({ ...error, request_id: randomUUID() })),
  },
  {
    id: "error-type-unknown",
    section: "Errors, Envelope",
    breaks: ["error.envelope.type"],
    sentence: "The type of a 404 is not one of the eight.",
    plant: refusing((error) => ({ ...error, type: "missing" }), hasCode("not_found")),
  },
  {
    id: "error-type-of-conflict",
    section: "Errors, Known codes",
    breaks: ["error.codes"],
    sentence: "A conflict of keys has the type `invalid_request`.",
    plant: refusing(
      (error) => ({ ...error, type: "invalid_request" }),
      hasCode("idempotency_conflict"),
    ),
  },
  {
    id: "error-type-of-verification",
    section: "Errors, Known codes",
    breaks: ["error.codes"],
    sentence: "A failed verification has the type `dependency`.",
    plant: refusing(
      (error) => ({ ...error, type: "dependency" }),
      hasCode("webhook_verification_failed"),
    ),
    seenBy: ["receiver.retry-after-failure"],
  },
  {
    id: "error-code-spelling",
    section: "Errors, Envelope",
    breaks: ["error.envelope.code"],
    sentence: "Codes are written with capitals and hyphens.",
    plant: refusing((error) => ({
      ...error,
      code: String(error.code).toUpperCase().replaceAll("_", "-"),
    })),
  },
  {
    id: "error-message-empty",
    section: "Errors, Envelope",
    breaks: ["error.envelope.message"],
    sentence: "A 404 has an empty message.",
    plant: refusing((error) => ({ ...error, message: "" }), hasCode("not_found")),
  },
  {
    id: "error-shows-token",
    section: "Errors, Envelope",
    breaks: ["error.envelope.message", "instance.read.no-secrets"],
    sentence: "A refusal repeats the token that was sent.",
    plant: refusing((error, { token }) => ({
      ...error,
      message: `Refused for ${token ?? "nobody"}.`,
    })),
    seenBy: ["provision.conflict", "authentication.provisioner-kind"],
  },
  {
    id: "error-shows-stack",
    section: "Errors, Envelope",
    breaks: ["error.envelope.message"],
    sentence: "The message of a 400 holds the stack of the provider.",
    plant: refusing(
      (error, { problem }) => ({ ...error, message: problem?.stack }),
      (_, { status }) => status === 400,
    ),
  },
  {
    id: "error-param-empty",
    section: "Errors, Envelope",
    breaks: ["error.envelope.param"],
    sentence: "An error about no field has an empty `param`.",
    plant: refusing((error) => ({ ...error, param: error.param ?? "" })),
  },
  {
    id: "error-param-null",
    section: "Errors, Envelope",
    breaks: ["error.envelope.shape"],
    sentence: "An error about no field has a `param` of null.",
    plant: refusing((error) => ({ ...error, param: error.param ?? null })),
  },
];

/** Tokens that received a 429. */
const slowed = new Set<string | undefined>();

const STATUSES: readonly Fault[] = [
  {
    id: "retry-after-in-words",
    section: "Errors, Status codes",
    breaks: ["error.retry-after"],
    sentence: "An instance's first read of a request is a 429 with `Retry-After: soon`.",
    plant: answering(
      ({ operation, token }) =>
        operation === "getApprovalRequest" && !slowed.has(token) && slowed.add(token) === slowed,
      ({ headers }, { requestId }) => ({
        status: 429,
        headers: { ...headers, "retry-after": "soon" },
        body: JSON.stringify(errorResponse(new Problem("rate_limited"), requestId)),
      }),
    ),
  },
  {
    id: "malformed-is-500",
    section: "Errors, Status codes",
    breaks: ["error.malformed"],
    sentence: "A body that is not JSON causes a 500.",
    plant: answering(hasCode("invalid_json"), () => ({ status: 500 })),
  },
  {
    id: "malformed-is-read",
    section: "Errors, Status codes",
    breaks: ["error.malformed", "request.create.body-object", "instance.provision.body-object"],
    sentence: "A body that is not JSON counts as an empty object.",
    plant: {
      readJson(bytes) {
        try {
          return CORRECT.readJson(bytes);
        } catch {
          return CORRECT.readJson(Buffer.from("{}"));
        }
      },
    },
  },
  {
    id: "invalid-is-422",
    section: "Errors, Status codes",
    breaks: ["exchange.statuses", "request.create.required"],
    sentence: "A body with a wrong field is a 422.",
    plant: answering(
      (_, { status }) => status === 400,
      () => ({ status: 422 }),
    ),
  },
];

export const EXCHANGE_FAULTS: readonly Fault[] = [...SERVICE, ...HEADERS, ...ENVELOPE, ...STATUSES];
