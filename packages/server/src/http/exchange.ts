/**
 * The parts of every exchange on every API: an id on the response before anything else, a caller
 * that only the credential determines, a strictly parsed body, and errors in the contract's
 * envelope.
 *
 * @see contract: Endpoints (X-Request-ID); Authentication; Errors
 */

import { once } from "node:events";
import { PassThrough } from "node:stream";
import {
  errorResponse,
  IDEMPOTENCY_KEY_CHARS_MAX,
  type JsonValue,
  Problem,
  parseIdentifier,
  parseJsonBytes,
  quoted,
} from "@countersign/protocol";
import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import type { Power } from "../core/roles.ts";
import { Failure } from "../failure.ts";
import type { Caller, ScimCaller, SignedIn } from "../identity/caller.ts";
import type { Report } from "../report.ts";
import { CLIENT_ENDED } from "./connection-exchanges.ts";
import { assertNotRepeated } from "./message-fault.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Null until authenticated. */
    caller: Caller | null;
    /** Set for a session cookie. */
    signedIn: SignedIn | null;
    /** Set for a token of an identity provider. */
    scimCaller: ScimCaller | null;
    /** Id of the request or instance, for the log. */
    subjectId: string | undefined;
    errorCode: string | undefined;
    /** True for a read that waits for a decision. Measured separately from other reads. */
    isLongPoll: boolean;
    /** Undefined without telemetry, and for operations without a trace. */
    traceId: string | undefined;
  }

  interface FastifyInstance {
    /** Characters of large answers that clients have not read yet, over all connections. */
    readonly unread: { chars: number };
    /** Sends a page instead of the error for an unknown path; returns undefined for programs. */
    readonly pages: {
      unknown?: (request: FastifyRequest, reply: FastifyReply) => FastifyReply | undefined;
    };
    /** Converts an error to a problem and logs unexpected errors. */
    readonly toProblem: (error: unknown, exchangeId: string) => Problem;
  }

  interface FastifyContextConfig {
    /** Name of the operation in logs and metrics. */
    operation?: string;
    /** Power that a GET of the reviewer API requires; `read` by default. */
    requiredPower?: Power;
    /** True when a GET does not extend the session, because pages send it without user action. */
    isBackground?: boolean;
  }
}

export const JSON_TYPE = "application/json";

/**
 * Default headers of every answer. It may contain a credential or a call, so caches must not store
 * it. It is data, so browsers must not run it, frame it or sniff its type.
 */
export const ANSWER_HEADERS: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
};

const LINES_TYPE = "application/x-ndjson";

/** Smaller answers are not counted. */
const COUNTED_CHARS_MIN = 16_384;

/** Maximum of large answers in memory for slow clients, over all connections. */
const UNREAD_CHARS_MAX = 128 * 1024 * 1024;

/**
 * Sends JSON text with the contract's content type.
 *
 * @throws Problem `unavailable` while clients have not read too much of earlier answers
 */
export function sendJson(reply: FastifyReply, status: number, json: string): FastifyReply {
  if (json.length >= COUNTED_CHARS_MIN) countUntilRead(reply, json.length);
  return reply.code(status).header("content-type", JSON_TYPE).serializer(asWritten).send(json);
}

function countUntilRead(reply: FastifyReply, chars: number): void {
  const { unread } = reply.server;
  if (unread.chars + chars > UNREAD_CHARS_MAX) {
    throw new Problem("unavailable", undefined, { retryAfterS: UNAVAILABLE_RETRY_S });
  }
  unread.chars += chars;
  onClosed(reply, () => {
    unread.chars -= chars;
  });
}

/** With a custom serializer, Fastify adds no charset to the content type. */
function asWritten(json: string): string {
  return json;
}

/** Writes an answer in parts. */
export interface StreamWriter {
  /** Resolves when the client can receive the next part. */
  write(text: string): Promise<void>;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

/** Options of an answer in parts. */
export interface StreamOptions {
  /** Headers of the answer, after a successful first part. */
  readonly headers: Readonly<Record<string, string>>;
  /** Text to append after a failure; undefined: none. */
  readonly failed?: ((problem: Problem) => string) | undefined;
}

/** Answers 200 with lines of JSON, as {@link sendStream}. */
export function sendJsonLines(
  request: FastifyRequest,
  reply: FastifyReply,
  produce: (lines: StreamWriter) => Promise<void>,
): Promise<FastifyReply> {
  return sendStream(request, reply, jsonLines(request), ({ write, signal }) =>
    produce({ write: (json) => write(`${json}\n`), signal }),
  );
}

/** Lines of JSON. After a failure, the last line is the error envelope. */
export function jsonLines({ id }: FastifyRequest): StreamOptions {
  return {
    headers: { "content-type": LINES_TYPE },
    failed: (problem) => `${JSON.stringify(errorResponse(problem, id))}\n`,
  };
}

/**
 * Calls back when the client disconnects, closes its side of the connection, or has its answer. A
 * server cannot distinguish a disconnected client from one that only closed its side and still
 * reads. So a long poll then ends early, with an answer.
 */
export function onDisconnect({ raw }: FastifyReply, callback: () => void): void {
  if (raw.destroyed || raw.req.socket.readableEnded) callback();
  else {
    raw.once("close", callback);
    raw.once(CLIENT_ENDED, callback);
  }
}

/** Calls back when the client disconnects or has its answer; immediately if it already has. */
export function onClosed({ raw }: FastifyReply, callback: () => void): void {
  if (raw.destroyed) callback();
  else raw.once("close", callback);
}

/** Aborted when the client disconnects or has its answer. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  onClosed(reply, () => gone.abort());
  return gone.signal;
}

/**
 * Answers 200 with an answer in parts. A failure before the first part is answered like any other
 * error; after it, with `failed`.
 */
export async function sendStream(
  request: FastifyRequest,
  reply: FastifyReply,
  { headers, failed }: StreamOptions,
  produce: (pieces: StreamWriter) => Promise<void>,
): Promise<FastifyReply> {
  const gone = disconnectSignal(reply);
  const stream = new PassThrough();
  let hasStarted = false;
  const write = async (text: string) => {
    gone.throwIfAborted();
    if (!hasStarted) {
      hasStarted = true;
      // The second header prevents proxies from buffering parts.
      reply.code(200).headers({ ...headers, "x-accel-buffering": "no" });
      reply.send(stream);
    }
    if (!stream.write(text)) await once(stream, "drain", { signal: gone });
  };
  try {
    await produce({ write, signal: gone });
  } catch (error) {
    if (gone.aborted) return reply.sent ? reply : reply.hijack();
    if (!hasStarted) throw error;
    const problem = reply.server.toProblem(error, request.id);
    request.errorCode = problem.code;
    if (failed !== undefined) stream.write(failed(problem));
  }
  stream.end();
  return reply;
}

/**
 * The identifier in the path.
 *
 * @throws Problem `not_found` for an invalid identifier
 */
export function pathIdentifier(request: FastifyRequest): string {
  const { id = "" } = request.params as { id?: string };
  const identifier = parseIdentifier(id);
  if (identifier === undefined) throw new Problem("not_found");
  request.subjectId = identifier;
  return identifier;
}

/**
 * The key of operations for which it is optional.
 *
 * @throws Problem `invalid_request` with param `Idempotency-Key`
 */
export function optionalIdempotencyKey(request: FastifyRequest): string | undefined {
  return request.headers["idempotency-key"] === undefined ? undefined : idempotencyKey(request);
}

/** @throws Problem `invalid_request` with param `Idempotency-Key` */
export function idempotencyKey(request: FastifyRequest): string {
  const key = request.headers["idempotency-key"];
  const param = "Idempotency-Key";
  assertNotRepeated(request.raw, param);
  if (typeof key !== "string" || key === "") {
    const message =
      "The header Idempotency-Key is required. Send a new key for each new operation.";
    throw new Problem("invalid_request", message, { param });
  }
  if (key.length > IDEMPOTENCY_KEY_CHARS_MAX) {
    const bound = `${IDEMPOTENCY_KEY_CHARS_MAX} characters`;
    const message = `Idempotency-Key must not be longer than ${bound}.`;
    throw new Problem("invalid_request", message, { param });
  }
  return key;
}

/**
 * The trace context of the caller, unchecked. An invalid one starts a new trace; it never fails the
 * exchange.
 *
 * @see https://www.w3.org/TR/trace-context/
 */
export function traceparent({ headers }: FastifyRequest): string | undefined {
  const value = headers.traceparent;
  return typeof value === "string" ? value : undefined;
}

/** RFC 7644, section 3.1: clients may also send application/json. */
export const SCIM_CONTENT_TYPE =
  /^application\/(?:json|scim\+json)[ \t]*(;[ \t]*charset *= *"?utf-8"?[ \t]*)?$/i;

const JSON_CONTENT_TYPE = /^application\/json[ \t]*(;[ \t]*charset *= *"?utf-8"?[ \t]*)?$/i;

const WRONG_CONTENT_TYPE = new Problem(
  "invalid_request",
  "Content-Type must be application/json.",
  { param: "Content-Type" },
);

/** @throws Problem `invalid_request` for another content type, and the JSON parser's problems */
export function jsonBody(request: FastifyRequest, permitted = JSON_CONTENT_TYPE): JsonValue {
  assertNotRepeated(request.raw, "Content-Type", "Content-Encoding");
  const { "content-type": type, "content-encoding": encoding } = request.headers;
  if (encoding !== undefined && encoding !== "identity") {
    const given = `Content-Encoding ${quoted(encoding)}`;
    const message = `${given} is not supported. Send the body uncompressed.`;
    throw new Problem("invalid_request", message, { param: "Content-Encoding" });
  }
  if (type === undefined || !permitted.test(type)) throw WRONG_CONTENT_TYPE;
  const { body } = request;
  if (!(body instanceof Uint8Array)) {
    throw new Problem("invalid_json", "The body is empty. Send a JSON object.", { param: "body" });
  }
  return parseJsonBytes(body);
}

/** Answers any error in the envelope. Only the log has an error that is not a Problem. */
export function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  report: Report,
): FastifyReply {
  const problem = toProblem(error, request.id, report);
  request.errorCode = problem.code;
  reply.headers(ANSWER_HEADERS).header("x-request-id", request.id);
  if (problem.retryAfterS !== undefined) reply.header("retry-after", problem.retryAfterS);
  if (problem.status === 401) reply.header("www-authenticate", challengeOf(request));
  const envelope = JSON.stringify(errorResponse(problem, request.id));
  return sendJson(reply, problem.status, envelope);
}

/** Adds an error code only for a caller that sent a token (RFC 6750 3.1). */
function challengeOf({ headers: { authorization = "" } }: FastifyRequest): string {
  const realm = 'Bearer realm="countersign"';
  return /^bearer +\S/i.test(authorization) ? `${realm}, error="invalid_token"` : realm;
}

const UNAVAILABLE_RETRY_S = 1;

export function toProblem(error: unknown, exchangeId: string, report: Report): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof Failure) {
    report.dependencyFailed(error.dependency, error, exchangeId);
    return new Problem("unavailable", undefined, { retryAfterS: UNAVAILABLE_RETRY_S });
  }
  const code = error instanceof Error && "code" in error ? (error as FastifyError).code : "";
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE") {
    return new Problem("body_too_large", undefined, { param: "body" });
  }
  if (code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") return WRONG_CONTENT_TYPE;
  // ECONNRESET: the client disconnected in its body, so it does not receive the answer.
  if (code.startsWith("FST_ERR_CTP_") || code === "ECONNRESET") {
    return new Problem("invalid_request", "The body could not be read. Send it again.", {
      param: "body",
    });
  }
  report.bugFound(error, exchangeId);
  return new Problem("internal");
}
