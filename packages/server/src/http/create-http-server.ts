/**
 * Creates the Fastify instance and the HTTP server under it. Every answer, including those to
 * parser errors, has an `X-Request-ID`; every error has the envelope.
 */

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingMessage, RequestListener, Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { createSecureContext } from "node:tls";
import { errorResponse, Problem } from "@countersign/protocol";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import type { Settings } from "../config/settings.ts";
import { Misconfigured } from "../failure.ts";
import type { Report } from "../report.ts";
import { ConnectionExchanges } from "./connection-exchanges.ts";
import { ANSWER_HEADERS, sendError, toProblem } from "./exchange.ts";
import { findMessageFault } from "./message-fault.ts";

// An import as a module would evaluate every lazy export, including an HTTP client that uses 4 MB
// and is not needed.
const { createServer, STATUS_CODES } = process.getBuiltinModule("node:http");
const { createServer: createTlsServer, Server: TlsServer } = process.getBuiltinModule("node:https");

/** Longer than the keep-alive of common load balancers, so that they close first. */
const KEEP_ALIVE_MS = 75_000;
const HEADERS_MS_MAX = 10_000;
const REQUEST_MS_MAX = 30_000;
/** `Retry-After` for clients that exceeded these times. */
const LATE_RETRY_S = 1;
/** Closes connections without any traffic for this time. Longer than any poll waits. */
const SILENCE_MS_MAX = 60_000;
/** How often Node checks for connections that exceeded these times. */
const CHECK_MS = 2_000;

export function createHttpServer(settings: Settings, report: Report): FastifyInstance {
  const app = fastify({
    logger: false,
    genReqId: () => randomUUID(),
    serverFactory: (listener) => createPlainServer(listener, settings),
    schemaController: { compilersFactory: NO_SCHEMAS },
    bodyLimit: settings.bodyBytesMax,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    forceCloseConnections: "idle",
    routerOptions: { maxParamLength: 16_384 },
    // With `false`, Fastify uses the address of the connection.
    trustProxy: settings.trustedProxies.length > 0 && [...settings.trustedProxies],
    frameworkErrors: (_, request, reply) => {
      // A path that cannot be decoded does not exist.
      sendError(new Problem("not_found"), request, reply, report);
    },
    clientErrorHandler: (error, socket) => {
      if (!exchanges.closeAfterAnswers(socket)) answerRaw(socket, fromParserError(error));
    },
  });
  // The contract defines no body here. The server does not read one.
  app.addHttpMethod("DELETE", { hasBody: false, overrideExisting: true });
  app.decorate("unread", { chars: 0 });
  app.decorate("pages", {});
  app.decorate("toProblem", (error: unknown, id: string) => toProblem(error, id, report));
  app.decorateRequest("caller", null);
  app.decorateRequest("signedIn", null);
  app.decorateRequest("scimCaller", null);
  app.decorateRequest("subjectId", undefined);
  app.decorateRequest("errorCode", undefined);
  app.decorateRequest("isLongPoll", false);
  app.decorateRequest("traceId", undefined);
  // Bodies stay bytes: the lossless parser reads them and rejects what other parsers repair.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_, body, done) => done(null, body));
  app.addHook("onRequest", (request, reply, done) => {
    reply.headers(ANSWER_HEADERS).header("x-request-id", request.id);
    const fault = findMessageFault(request.raw);
    if (fault?.isUnframed) {
      reply.header("connection", "close");
      // The parser may report another fault after the headers. Only one answer is sent.
      setImmediate(done, fault.problem);
    } else if (fault !== undefined) done(fault.problem);
    else if (request.is404) {
      const problem = unrouted(app, request, reply);
      // A page was sent otherwise.
      if (problem.code !== "not_found" || app.pages.unknown?.(request, reply) === undefined) {
        done(problem);
      }
    } else done();
  });
  app.addHook("onResponse", (request, reply, done) => {
    report.exchangeEnded({
      exchangeId: request.id,
      operation: request.routeOptions.config?.operation ?? "unknown",
      isLongPoll: request.isLongPoll,
      status: reply.statusCode,
      durationMs: reply.elapsedTime,
      clientAddress: settings.trustedProxies.length > 0 ? request.ip : undefined,
      errorCode: request.errorCode,
      credentialId: credentialOf(request),
      subjectId: request.subjectId,
      traceId: request.traceId,
    });
    done();
  });
  const exchanges = new ConnectionExchanges(app.server);
  const closeUnused = trackUnusedConnections(app.server);
  app.addHook("preClose", (done) => {
    closeUnused();
    done();
  });
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply, report));
  return app;
}

/** Id of the token or session, for the log. */
function credentialOf({ caller, signedIn, scimCaller }: FastifyRequest): string | undefined {
  return caller?.credentialId ?? signedIn?.session.id ?? scimCaller?.tokenId;
}

/**
 * The server parses bodies and writes answers itself. Without these, Fastify would load an unused
 * schema compiler.
 */
const NO_SCHEMAS = { buildValidator: refuseSchema, buildSerializer: refuseSchema };

function refuseSchema(): never {
  throw new Error("routes have no schemas here");
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

/** The problem for an exchange without a route. Sent before the body is read. */
function unrouted(app: FastifyInstance, { url }: FastifyRequest, reply: FastifyReply): Problem {
  const path = url.split("?", 1)[0] ?? url;
  const allowed = METHODS.filter((method) => app.findRoute({ method, url: path }) !== null);
  if (allowed.length === 0) return new Problem("not_found");
  reply.header("allow", allowed.join(", "));
  return new Problem("method_not_allowed");
}

/** The server under Fastify. Replaces Node's own answers. */
function createPlainServer(listener: RequestListener, settings: Settings): Server {
  const options = {
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: HEADERS_MS_MAX,
    requestTimeout: REQUEST_MS_MAX,
    connectionsCheckingInterval: CHECK_MS,
    // A hook checks it instead, because Node would answer without an id.
    requireHostHeader: false,
  };
  const server =
    settings.tls === undefined
      ? createServer(options, listener)
      : createTlsServer(
          {
            ...options,
            ...readCertificate(settings.tls),
            minVersion: "TLSv1.2",
          },
          listener,
        );
  // A client that closes its side after the request still receives the answer.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.maxConnections = settings.connectionsMax;
  server.timeout = SILENCE_MS_MAX;
  server.on("connect", (_, socket) => answerRaw(socket, new Problem("method_not_allowed")));
  server.on("checkExpectation", (request, response) => {
    const problem = new Problem(
      "invalid_request",
      "The header Expect must be 100-continue or absent.",
      {
        param: "Expect",
      },
    );
    const id = randomUUID();
    const body = JSON.stringify(errorResponse(problem, id));
    response.writeHead(problem.status, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      ...ANSWER_HEADERS,
      "x-request-id": id,
      connection: "close",
    });
    response.end(body);
    request.resume();
  });
  return server;
}

/** @throws Misconfigured with the setting of the unusable file */
function readCertificate({ certFile, keyFile }: NonNullable<Settings["tls"]>): {
  readonly cert: Buffer;
  readonly key: Buffer;
} {
  const cert = readPem("tls_cert", certFile);
  const key = readPem("tls_key", keyFile);
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Misconfigured("tls", `tls_cert and tls_key cannot be used: ${reason}`, error);
  }
  return { cert, key };
}

function readPem(setting: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Misconfigured("tls", `${setting} cannot be read: ${reason}`, error);
  }
}

/**
 * Tracks connections that never sent a request. Node does not count them as idle, so a close would
 * wait for them. Browsers and load balancers open such connections in advance.
 *
 * @returns closes the open ones
 */
function trackUnusedConnections(server: Server): () => void {
  const unused = new Set<Socket>();
  // With TLS, the socket of a request is the encrypted one.
  const opened = server instanceof TlsServer ? "secureConnection" : "connection";
  server.on(opened, (socket: Socket) => {
    unused.add(socket);
    socket.once("close", () => unused.delete(socket));
  });
  server.on("request", ({ socket }: IncomingMessage) => unused.delete(socket));
  return () => {
    for (const socket of unused) socket.destroy();
  };
}

function fromParserError({ code }: NodeJS.ErrnoException): Problem {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return new Problem(
        "invalid_request",
        "The headers are too large. Send fewer or shorter headers.",
        { param: "headers" },
      );
    case "ERR_HTTP_REQUEST_TIMEOUT":
      // The request may be late because this process paused (suspended or overloaded machine).
      // Clients do not retry a 400, so this is a 503.
      return new Problem("unavailable", "The request took too long to arrive. Send it again.", {
        retryAfterS: LATE_RETRY_S,
      });
    default:
      return new Problem("invalid_request", "The request is not valid HTTP.");
  }
}

const RAW_ANSWER_HEADERS = Object.entries(ANSWER_HEADERS)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join("");

/** Answers a parser error for which there is no response object. */
function answerRaw(socket: Duplex, problem: Problem): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const id = randomUUID();
  const body = JSON.stringify(errorResponse(problem, id));
  const { status, retryAfterS } = problem;
  const answer =
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n` +
    (status === 405 ? `Allow: ${METHODS.join(", ")}\r\n` : "") +
    (retryAfterS === undefined ? "" : `Retry-After: ${retryAfterS}\r\n`) +
    "Content-Type: application/json\r\n" +
    `Content-Length: ${Buffer.byteLength(body)}\r\n` +
    `X-Request-ID: ${id}\r\n` +
    RAW_ANSWER_HEADERS +
    "Connection: close\r\n\r\n" +
    body;
  // Nothing reads this socket any more, so a client could keep it open.
  socket.end(answer, () => socket.destroy());
}
