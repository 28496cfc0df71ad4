/**
 * The Fastify instance and the plain server under it. Whatever answers, also the HTTP parser
 * itself, carries an `X-Request-ID` and, for errors, the envelope.
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

// Importing these two as modules reads every export, lazy ones included, and with them loads an
// HTTP client that costs a server 4 MB and is not used here.
const { createServer, STATUS_CODES } = process.getBuiltinModule("node:http");
const { createServer: createTlsServer, Server: TlsServer } = process.getBuiltinModule("node:https");

/** Longer than common load balancers keep theirs, so that they and not we close first. */
const KEEP_ALIVE_MS = 75_000;
const HEADERS_MS_MAX = 10_000;
const REQUEST_MS_MAX = 30_000;
/** The answer to a client that exceeded these times. */
const LATE_RETRY_S = 1;
/** Without a byte in either direction a connection is cut: longer than any poll waits. */
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
    // Fastify's default `false` takes the address of the connection.
    trustProxy: settings.trustedProxies.length > 0 && [...settings.trustedProxies],
    frameworkErrors: (_, request, reply) => {
      // A path that cannot be decoded names nothing.
      sendError(new Problem("not_found"), request, reply, report);
    },
    clientErrorHandler: (error, socket) => {
      if (!exchanges.closeAfterAnswers(socket)) answerRaw(socket, fromParserError(error));
    },
  });
  // The contract gives these no body; one that is sent is not read.
  app.addHttpMethod("DELETE", { hasBody: false, overrideExisting: true });
  app.decorate("unread", { chars: 0 });
  app.decorate("toProblem", (error: unknown, id: string) => toProblem(error, id, report));
  app.decorateRequest("caller", null);
  app.decorateRequest("signedIn", null);
  app.decorateRequest("subjectId", undefined);
  app.decorateRequest("errorCode", undefined);
  app.decorateRequest("isLongPoll", false);
  // Bodies stay bytes: our own parser reads them, also to see what another would repair.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_, body, done) => done(null, body));
  app.addHook("onRequest", (request, reply, done) => {
    reply.headers(ANSWER_HEADERS).header("x-request-id", request.id);
    const fault = findMessageFault(request.raw);
    if (fault?.isUnframed) {
      reply.header("connection", "close");
      // The parser may find a fault behind the headers, and answer that: once is enough.
      setImmediate(done, fault.problem);
    } else if (fault !== undefined) done(fault.problem);
    else if (request.is404) done(unrouted(app, request, reply));
    else done();
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
      credentialId: request.caller?.credentialId ?? request.signedIn?.session.id,
      subjectId: request.subjectId,
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

/**
 * Bodies are read by our own parser and answers are written from stored text: without this,
 * Fastify would load a schema compiler that nothing here uses.
 */
const NO_SCHEMAS = { buildValidator: refuseSchema, buildSerializer: refuseSchema };

function refuseSchema(): never {
  throw new Error("routes have no schemas here");
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

/** Why no route takes this exchange; said before the body is read, whatever the body is. */
function unrouted(app: FastifyInstance, { url }: FastifyRequest, reply: FastifyReply): Problem {
  const path = url.split("?", 1)[0] ?? url;
  const allowed = METHODS.filter((method) => app.findRoute({ method, url: path }) !== null);
  if (allowed.length === 0) return new Problem("not_found");
  reply.header("allow", allowed.join(", "));
  return new Problem("method_not_allowed");
}

/** The server under Fastify, with an answer of ours wherever Node would give its own. */
function createPlainServer(listener: RequestListener, settings: Settings): Server {
  const options = {
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: HEADERS_MS_MAX,
    requestTimeout: REQUEST_MS_MAX,
    connectionsCheckingInterval: CHECK_MS,
    // Checked by a hook instead, because Node would answer without an id.
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
  // A client that closes its side after the request still gets the answer.
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

/** @throws Misconfigured naming the setting whose file cannot be used */
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
 * Connections that never sent a request: Node does not count them as idle, and closing would wait
 * for them until the grace is over. Browsers and load balancers open such connections ahead.
 *
 * @returns closes those that are open
 */
function trackUnusedConnections(server: Server): () => void {
  const unused = new Set<Socket>();
  // Of TLS, the socket that a request names is the encrypted one.
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
      // It may have waited for us: after a pause of this process (a suspended machine, one that
      // has no time for us) what had arrived long ago is late as well. A 400 is not tried again.
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

/** For exchanges that never became one: the parser gave up before there was a response. */
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
  // Nothing reads this socket any more, so nothing would notice that the client keeps it open.
  socket.end(answer, () => socket.destroy());
}
