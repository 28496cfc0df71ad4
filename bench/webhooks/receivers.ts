/**
 * Receivers over TLS, many hosts in one process: each a loopback address, all at one port. They
 * read what they must to answer, because they share the cores with the server, and note when.
 * A child process of the benchmark.
 *
 * Called with the number of hosts and the files of their key and certificate.
 */

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { monotonicMs } from "../monotonic.ts";
import type { Behaviour, Order, Word } from "./messages.ts";

/** Of one message on its way. */
interface Incoming {
  /** When its first byte had come. */
  readonly firstByteAtMs: number;
  /** The first on its connection. */
  readonly isFirst: boolean;
  /** All bytes so far. */
  bytes: Buffer;
}

interface Count {
  readonly skipped: number;
  readonly until: number;
  readonly ids: Set<string>;
  startedAtMs: number;
  repeated: number;
}

const behaviours = new Map<string, Behaviour>();
let count: Count | undefined;
let isWatching = false;

function serve(socket: TLSSocket, behaviour: () => Behaviour): void {
  let incoming: Incoming | undefined;
  let isFirst = true;
  socket.on("data", (chunk: Buffer) => {
    if (incoming === undefined) {
      incoming = { firstByteAtMs: monotonicMs(), isFirst, bytes: chunk };
      isFirst = false;
    } else {
      incoming.bytes = Buffer.concat([incoming.bytes, chunk]);
    }
    const body = bodyOf(incoming.bytes);
    if (body === undefined) return;
    const message = incoming;
    incoming = undefined;
    answer(socket, message, body, behaviour());
  });
  socket.on("error", () => undefined);
}

const VERIFICATION = '"type":"webhook.verification"';
const CHALLENGE = /"challenge":"([^"]+)"/;

const ACKNOWLEDGED = "HTTP/1.1 204 No Content\r\n\r\n";
const ACKNOWLEDGED_AND_CLOSED = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";

function answer(socket: Socket, message: Incoming, body: Buffer, behaviour: Behaviour): void {
  if (body.includes(VERIFICATION)) {
    const challenge = CHALLENGE.exec(body.toString("latin1"))?.[1];
    const text = JSON.stringify({ challenge });
    socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`);
    return;
  }
  if (behaviour === "acknowledge") socket.write(ACKNOWLEDGED);
  if (behaviour === "close") socket.end(ACKNOWLEDGED_AND_CLOSED);
  if (count !== undefined) note(count, message);
  if (isWatching) {
    const { firstByteAtMs, isFirst } = message;
    sendToParent({ kind: "arrived", requestId: requestOf(body), firstByteAtMs, isFirst });
  }
}

const WEBHOOK_ID = /\r\nwebhook-id: *(\S+)/i;

/** The time after the answer is written, which is when the receiver is done with it. */
function note(counting: Count, { bytes }: Incoming): void {
  const id = WEBHOOK_ID.exec(bytes.toString("latin1"))?.[1] ?? "";
  if (counting.ids.has(id)) counting.repeated++;
  counting.ids.add(id);
  const { size } = counting.ids;
  if (size === counting.skipped) {
    counting.startedAtMs = monotonicMs();
    sendToParent({ kind: "skipped" });
  }
  if (size !== counting.until) return;
  const { startedAtMs, repeated } = counting;
  count = undefined;
  sendToParent({ kind: "counted", seconds: (monotonicMs() - startedAtMs) / 1000, repeated });
}

const REQUEST_ID = /"request_id":"([^"]+)"/;

function requestOf(body: Buffer): string {
  return REQUEST_ID.exec(body.toString("latin1"))?.[1] ?? "";
}

const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)/i;

/** @returns undefined while some of it is missing */
function bodyOf(bytes: Buffer): Buffer | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const length = Number(CONTENT_LENGTH.exec(bytes.toString("latin1", 0, headEnd))?.[1] ?? 0);
  const body = bytes.subarray(headEnd + 4);
  return body.length < length ? undefined : body;
}

function sendToParent(word: Word): void {
  process.send?.(word);
}

/** Hands over connections to this address at this port; at a free one when it is 0. */
async function listen(host: string, port: number, tls: Server): Promise<number> {
  const server = createServer({ noDelay: true }, (socket) => tls.emit("connection", socket));
  server.listen(port, host);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

const [hosts = "", keyFile = "", certificateFile = ""] = process.argv.slice(2);

const tls = createTlsServer(
  { key: readFileSync(keyFile), cert: readFileSync(certificateFile) },
  (socket) => {
    const address = socket.localAddress ?? "";
    serve(socket, () => behaviours.get(address) ?? "acknowledge");
  },
);
tls.on("tlsClientError", () => undefined);

process.on("message", (order: Order) => {
  if (order.kind === "behave") behaviours.set(order.host, order.as);
  if (order.kind === "watch") isWatching = true;
  if (order.kind !== "count") return;
  const { skipped, until } = order;
  count = { skipped, until, ids: new Set(), startedAtMs: 0, repeated: 0 };
  sendToParent({ kind: "counting" });
});
process.once("disconnect", () => process.exit());

let port = 0;
for (let i = 1; i <= Number(hosts); i++) port = await listen(`127.0.0.${i}`, port, tls);
process.send?.({ port });
