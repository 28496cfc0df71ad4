/**
 * Sends one message on an open connection and reads its answer. Limits everything that the receiver
 * controls: the size of headers and body, interim answers, time.
 *
 * @see RFC 9110, RFC 9112
 */

import type { ClientRequest, IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import type { WebhookUrl } from "@countersign/protocol";
import type { Clock } from "../clock.ts";
import type { Deadline } from "./deadline.ts";
import { type Message, type Reply, type UnreachableReason, unreachable } from "./message.ts";

// As in http/create-http-server.ts: an import as a module loads an unused client.
const { request } = process.getBuiltinModule("node:http");

export const HEADER_BYTES_MAX = 8_192;

/** Servers send 100 and 103, each at most once. */
export const INTERIM_ANSWERS_MAX = 4;

/** Bytes of an unused body to read, so that its connection can be reused. */
export const DRAIN_BYTES_MAX = 16_384;
export const DRAIN_MS_MAX = 1_000;

export interface Exchange {
  /** Resolves with the status if the body is unused, else when the body is complete. */
  readonly reply: Promise<Reply>;
  /** Resolves when the exchange is over: true when the connection can be reused. */
  readonly over: Promise<boolean>;
}

export interface Sending {
  /**
   * The socket has a verified certificate, and no other exchange uses it until this one is over.
   */
  readonly socket: TLSSocket;
  /** True after an earlier message on this connection. */
  readonly isReused: boolean;
  readonly userAgent: string;
  readonly clock: Clock;
  /** Destroys the connection at any point of the exchange. */
  readonly deadline: Deadline;
}

/** Sends the message once. The receiver cannot make a promise reject. */
export function exchange(url: WebhookUrl, message: Message, sending: Sending): Exchange {
  const { socket, deadline } = sending;
  const reply = Promise.withResolvers<Reply>();
  const over = Promise.withResolvers<boolean>();
  let receivedBytes = 0;
  const count = (chunk: Uint8Array) => {
    receivedBytes += chunk.length;
  };
  const fail = (reason: UnreachableReason) => {
    const isStale = sending.isReused && reason === "reset" && receivedBytes === 0;
    reply.resolve(unreachable(isStale ? "stale" : reason));
    socket.destroy();
  };
  const leave = deadline.onOver(() => fail(deadline.reason));
  const end = (isReusable: boolean) => {
    leave();
    socket.off("data", count).off("free", onFree).off("close", onClose);
    over.resolve(isReusable);
  };
  // Node releases the connection when both sides are done and it can be reused.
  const onFree = () => end(true);
  const onClose = () => end(false);
  deadline.check();
  if (socket.destroyed || deadline.isOver) {
    fail(deadline.isOver ? deadline.reason : "reset");
    end(false);
    return { reply: reply.promise, over: over.promise };
  }

  const sent = request({
    createConnection: () => socket,
    method: message.method ?? "POST",
    path: url.path,
    headers: headersOf(url, message, sending.userAgent),
    maxHeaderSize: HEADER_BYTES_MAX,
    insecureHTTPParser: false,
  });
  socket.once("free", onFree).once("close", onClose);
  sent.once("socket", () => {
    // The last check. The write to the operating system follows without waiting.
    deadline.check();
    // Added after the parser's listener, because a listener starts the flow of data.
    socket.on("data", count);
  });
  sent.on("error", (error) => fail(reasonOf(error)));
  boundInterimAnswers(sent, () => fail("protocol"));
  sent.once("response", (response) => {
    const stop = receive(response, message.responseBytesMax, sending.clock, reply.resolve, fail);
    over.promise.then(stop);
  });
  sent.end(message.body);
  return { reply: reply.promise, over: over.promise };
}

/** Own headers override the caller's: the caller must not set framing or the host. */
function headersOf(
  url: WebhookUrl,
  { headers, body, freshConnection }: Message,
  userAgent: string,
): Record<string, string> {
  return {
    "user-agent": userAgent,
    ...headers,
    host: url.authority,
    connection: freshConnection ? "close" : "keep-alive",
    "accept-encoding": "identity",
    "content-length": String(Buffer.byteLength(body)),
  };
}

/** Interim answers reset Node's timers, and a receiver could send them without end. */
function boundInterimAnswers(sent: ClientRequest, fail: () => void): void {
  let count = 0;
  sent.on("information", () => {
    count++;
    if (count > INTERIM_ANSWERS_MAX) fail();
  });
  // 101: a protocol switch, which this client did not request.
  sent.once("upgrade", fail);
}

/** @returns stops the timer that limits the reading of an unused body */
function receive(
  response: IncomingMessage,
  wantedBytesMax: number,
  clock: Clock,
  resolve: (reply: Reply) => void,
  fail: (reason: UnreachableReason) => void,
): () => void {
  const isWanted = wantedBytesMax > 0;
  const bytesMax = isWanted ? wantedBytesMax : DRAIN_BYTES_MAX;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Only the first call counts. After the status, a failure only closes the connection.
  const answer = () =>
    resolve({
      kind: "answered",
      status: response.statusCode ?? 0,
      retryAfter: response.headers["retry-after"],
      body: Buffer.concat(chunks),
    });
  if (!isWanted) answer();
  response.on("data", (chunk: Uint8Array) => {
    bytes += chunk.length;
    if (bytes > bytesMax) fail("too_large");
    else if (isWanted) chunks.push(chunk);
  });
  response.once("end", answer);
  response.on("error", () => fail("reset"));
  return isWanted ? () => undefined : clock.after(DRAIN_MS_MAX, () => fail("timeout"));
}

function reasonOf({ code = "" }: NodeJS.ErrnoException): UnreachableReason {
  if (code === "HPE_HEADER_OVERFLOW") return "too_large";
  if (code.startsWith("HPE_")) return "protocol";
  // With TLS 1.3, a receiver can reject the handshake after it is complete for the client.
  if (code.startsWith("ERR_SSL_")) return "tls";
  return "reset";
}
