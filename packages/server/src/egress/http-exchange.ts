/**
 * One message on an open connection, and the answer to it, with everything bounded that the other
 * side decides: the size of headers and body, interim answers, time.
 *
 * @see RFC 9110, RFC 9112
 */

import type { ClientRequest, IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import type { WebhookUrl } from "@countersign/protocol";
import type { Clock } from "../clock.ts";
import type { Deadline } from "./deadline.ts";
import { type Message, type Reply, type UnreachableReason, unreachable } from "./message.ts";

// As in http/create-http-server.ts: importing it as a module loads a client that is not used.
const { request } = process.getBuiltinModule("node:http");

export const HEADER_BYTES_MAX = 8_192;

/** 100 and 103 are sent by honest servers, once each at most. */
export const INTERIM_ANSWERS_MAX = 4;

/** Bytes of an unused body that are read, so that its connection can be reused. */
export const DRAIN_BYTES_MAX = 16_384;
export const DRAIN_MS_MAX = 1_000;

export interface Exchange {
  /** Resolves with the status when no body is wanted, else when the body is complete. */
  readonly reply: Promise<Reply>;
  /**
   * Resolves when nothing more is sent or received for this message: true when the connection can
   * carry another.
   */
  readonly over: Promise<boolean>;
}

export interface Sending {
  /** Its certificate is verified; no other exchange uses it until this one is over. */
  readonly socket: TLSSocket;
  /** It has carried another message before. */
  readonly isReused: boolean;
  readonly userAgent: string;
  readonly clock: Clock;
  /** Cuts the connection, wherever the exchange is. */
  readonly deadline: Deadline;
}

/** Sends the message, once. Nothing that the receiver does makes a promise reject. */
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
  // Node gives the connection back when both sides are done and willing to go on.
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
    method: "POST",
    path: url.path,
    headers: headersOf(url, message, sending.userAgent),
    maxHeaderSize: HEADER_BYTES_MAX,
    insecureHTTPParser: false,
  });
  socket.once("free", onFree).once("close", onClose);
  sent.once("socket", () => {
    // The last check. What follows, up to the operating system's write, waits for nothing.
    deadline.check();
    // Not before the parser listens too: a listener sets the bytes flowing.
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

/** Ours come last: what frames the message and names its receiver is not the caller's to say. */
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

/** They reset what Node measures, and could go on for ever. */
function boundInterimAnswers(sent: ClientRequest, fail: () => void): void {
  let count = 0;
  sent.on("information", () => {
    count++;
    if (count > INTERIM_ANSWERS_MAX) fail();
  });
  // 101: another protocol, which this client did not request.
  sent.once("upgrade", fail);
}

/** @returns stops the timer that bounds the reading of an unused body */
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
  // Only the first counts: when the status is enough, failing merely ends the connection.
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
  // With TLS 1.3 a receiver can refuse the handshake after it has ended for us.
  if (code.startsWith("ERR_SSL_")) return "tls";
  return "reset";
}
