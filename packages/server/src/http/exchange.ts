/**
 * What every exchange has, on every surface: an id on the response before anything else can
 * happen, a caller derived from the credential alone, a strictly read body, and errors in the
 * contract's envelope.
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
import type { Caller, SignedIn } from "../identity/caller.ts";
import type { Report } from "../report.ts";
import { CLIENT_ENDED } from "./connection-exchanges.ts";
import { assertNotRepeated } from "./message-fault.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Null until authenticated. */
    caller: Caller | null;
    /** Set when it came with the cookie of a session. */
    signedIn: SignedIn | null;
    /** What the exchange is about, for the log. */
    subjectId: string | undefined;
    errorCode: string | undefined;
    /** Whether this is a read that waits for a decision; measured apart from other reads. */
    isLongPoll: boolean;
  }

  interface FastifyInstance {
    /** What was sent in large answers and has not been read, over all connections. */
    readonly unread: { chars: number };
    /** The problem for an error; an unexpected one goes to the log. */
    readonly toProblem: (error: unknown, exchangeId: string) => Problem;
  }

  interface FastifyContextConfig {
    /** Name of the operation in logs and metrics. */
    operation?: string;
    /** What a GET of the reviewer surface takes of its caller; `read` when it is not said. */
    requiredPower?: Power;
    /** Whether a GET of it does not extend the session: pages send it without user action. */
    isBackground?: boolean;
  }
}

export const JSON_TYPE = "application/json";

/**
 * On every answer that says nothing else: it may hold a credential or a call, so caches do not
 * store it, and it is data, so no browser runs it, shows it in a frame or takes it for a script.
 */
export const ANSWER_HEADERS: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
};

const LINES_TYPE = "application/x-ndjson";

/** Answers below this size are not worth counting. */
const COUNTED_CHARS_MIN = 16_384;

/** What may wait in memory for clients that read slowly or not at all, over all connections. */
const UNREAD_CHARS_MAX = 128 * 1024 * 1024;

/**
 * Sends JSON that is already written, under the type as the contract spells it.
 *
 * @throws Problem `unavailable` while too much that was sent has not been read
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

/** With a serializer of its own, Fastify adds no charset to the type. */
function asWritten(json: string): string {
  return json;
}

/** An answer that is written piece by piece. */
export interface StreamWriter {
  /** Resolves when the client has room for the next piece. */
  write(text: string): Promise<void>;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
}

/** How an answer in pieces is sent. */
export interface StreamOptions {
  /** Of an answer that has begun. */
  readonly headers: Readonly<Record<string, string>>;
  /** What to end with when it fails halfway; nothing when undefined. */
  readonly failed?: ((problem: Problem) => string) | undefined;
}

/** Answers 200 and a line of JSON at a time, as {@link sendStream}. */
export function sendJsonLines(
  request: FastifyRequest,
  reply: FastifyReply,
  produce: (lines: StreamWriter) => Promise<void>,
): Promise<FastifyReply> {
  return sendStream(request, reply, jsonLines(request), ({ write, signal }) =>
    produce({ write: (json) => write(`${json}\n`), signal }),
  );
}

/** Lines of JSON, of which the last one is the envelope when something fails. */
export function jsonLines({ id }: FastifyRequest): StreamOptions {
  return {
    headers: { "content-type": LINES_TYPE },
    failed: (problem) => `${JSON.stringify(errorResponse(problem, id))}\n`,
  };
}

/**
 * Calls back when the client has gone, has closed its side of the connection, or has its answer. A
 * client that has gone cannot be told from one that only closed its side and still reads: so a held
 * poll ends early then, with an answer.
 */
export function onDisconnect({ raw }: FastifyReply, callback: () => void): void {
  if (raw.destroyed || raw.req.socket.readableEnded) callback();
  else {
    raw.once("close", callback);
    raw.once(CLIENT_ENDED, callback);
  }
}

/** Calls back when the client has gone or has its answer; at once when that is already so. */
export function onClosed({ raw }: FastifyReply, callback: () => void): void {
  if (raw.destroyed) callback();
  else raw.once("close", callback);
}

/** Aborted when the client has gone, or has its answer. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  onClosed(reply, () => gone.abort());
  return gone.signal;
}

/**
 * Answers 200 and a piece at a time. What fails before the first piece is answered as any other
 * error; after it, as the form says.
 */
export async function sendStream(
  request: FastifyRequest,
  reply: FastifyReply,
  { headers, failed }: StreamOptions,
  produce: (pieces: StreamWriter) => Promise<void>,
): Promise<FastifyReply> {
  const gone = disconnectSignal(reply);
  const stream = new PassThrough();
  let hasBegun = false;
  const write = async (text: string) => {
    gone.throwIfAborted();
    if (!hasBegun) {
      hasBegun = true;
      // The second keeps a proxy from holding pieces back.
      reply.code(200).headers({ ...headers, "x-accel-buffering": "no" });
      reply.send(stream);
    }
    if (!stream.write(text)) await once(stream, "drain", { signal: gone });
  };
  try {
    await produce({ write, signal: gone });
  } catch (error) {
    if (gone.aborted) return reply.sent ? reply : reply.hijack();
    if (!hasBegun) throw error;
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
 * @throws Problem `not_found`: what is no identifier names nothing
 */
export function pathIdentifier(request: FastifyRequest): string {
  const { id = "" } = request.params as { id?: string };
  const identifier = parseIdentifier(id);
  if (identifier === undefined) throw new Problem("not_found");
  request.subjectId = identifier;
  return identifier;
}

/**
 * Where the key is the caller's choice.
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

const JSON_CONTENT_TYPE = /^application\/json[ \t]*(;[ \t]*charset *= *"?utf-8"?[ \t]*)?$/i;

const WRONG_CONTENT_TYPE = new Problem(
  "invalid_request",
  "Content-Type must be application/json.",
  { param: "Content-Type" },
);

/**
 * @throws Problem `invalid_request` for another content type, and what the JSON parser throws
 */
export function jsonBody(request: FastifyRequest): JsonValue {
  assertNotRepeated(request.raw, "Content-Type", "Content-Encoding");
  const { "content-type": type, "content-encoding": encoding } = request.headers;
  if (encoding !== undefined && encoding !== "identity") {
    const given = `Content-Encoding ${quoted(encoding)}`;
    const message = `${given} is not supported. Send the body uncompressed.`;
    throw new Problem("invalid_request", message, { param: "Content-Encoding" });
  }
  if (type === undefined || !JSON_CONTENT_TYPE.test(type)) throw WRONG_CONTENT_TYPE;
  const { body } = request;
  if (!(body instanceof Uint8Array)) {
    throw new Problem("invalid_json", "The body is empty. Send a JSON object.", { param: "body" });
  }
  return parseJsonBytes(body);
}

/** Answers any error in the envelope; an error that is not a Problem is logged only. */
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

/** Names an error only to a caller that sent a token (RFC 6750 3.1). */
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
  // The second is of a client that disconnected in its body; nothing reads the answer.
  if (code.startsWith("FST_ERR_CTP_") || code === "ECONNRESET") {
    return new Problem("invalid_request", "The body could not be read. Send it again.", {
      param: "body",
    });
  }
  report.bugFound(error, exchangeId);
  return new Problem("internal");
}
