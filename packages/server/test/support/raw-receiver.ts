/**
 * A receiver that speaks bytes over TLS, for what no HTTP server would say.
 */

import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket, type TlsOptions } from "node:tls";
import { createSelfSigned } from "./self-signed.ts";
import type { Lifetime } from "./test-provider.ts";
import { until } from "./until.ts";

/** Called with every message: head and body as they came, and the connection below TLS. */
export type Behave = (socket: TLSSocket, message: string, tcp: Socket | undefined) => void;

export interface RawReceiver {
  readonly port: number;
  readonly certificate: string;
  /** Those on which TLS was up, in order. */
  readonly sockets: readonly TLSSocket[];
  /** Everything that was sent inside of TLS, by anybody. */
  readonly received: string;
}

const MESSAGE = /^.*?\r\n\r\n/s;

export async function startRawReceiver(
  t: Lifetime,
  behave: Behave,
  options: TlsOptions = {},
): Promise<RawReceiver> {
  const { key, certificate } = createSelfSigned();
  const sockets: TLSSocket[] = [];
  const connections: Socket[] = [];
  let received = "";
  const server = createTlsServer({ key, cert: certificate, ...options }, (socket) => {
    sockets.push(socket);
    let pending = "";
    // A character for each byte, whatever it is.
    socket.setEncoding("latin1");
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      received += chunk;
      pending += chunk;
      const head = MESSAGE.exec(pending)?.[0];
      if (head === undefined) return;
      const length = head.length + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (pending.length < length) return;
      const message = pending.slice(0, length);
      pending = pending.slice(length);
      const tcp = connections.find(({ remotePort }) => remotePort === socket.remotePort);
      behave(socket, message, tcp);
    });
  });
  server.on("connection", (socket) => connections.push(socket));
  server.on("tlsClientError", () => undefined);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    certificate,
    sockets,
    get received() {
      return received;
    },
  };
}

export interface TcpListener {
  readonly port: number;
  readonly sockets: readonly Socket[];
}

/** Accepts TCP connections, and knows no TLS. */
export async function startTcpListener(
  t: Lifetime,
  accept: (socket: Socket) => void = () => undefined,
  { host = "127.0.0.1", port = 0 } = {},
): Promise<TcpListener> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined);
    accept(socket);
  });
  server.listen(port, host);
  await once(server, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, sockets };
}

/** Resolves when the connection has ended, however. */
export function closed(socket: Socket | undefined): Promise<void> {
  return until(() => socket === undefined || socket.closed, "the connection ends");
}
