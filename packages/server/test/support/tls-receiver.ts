/**
 * A small HTTPS receiver: records what arrives, byte for byte, and answers as the test specifies.
 */

import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { createSelfSigned, type KeyAndCertificate, type Subjects } from "./self-signed.ts";
import type { Lifetime } from "./test-provider.ts";
import { PATIENCE_MS } from "./until.ts";

export interface Received {
  readonly method: string;
  /** The request target as it was sent. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The host name in the TLS handshake; empty for an address. */
  readonly serverName: string;
}

/** Called when the message is complete. */
export type AnswerMessage = (received: Received, response: ServerResponse) => void;

export interface TlsReceiverOptions {
  /** Whom the certificate names: without it, localhost and 127.0.0.1. */
  readonly subjects?: Subjects;
  /** In place of a certificate of its own, for receivers that are one. */
  readonly identity?: KeyAndCertificate;
  /** Listened on; 127.0.0.1 without it. */
  readonly host?: string;
  readonly port?: number;
}

export interface TlsReceiver {
  readonly port: number;
  /** For protocols beyond HTTP. */
  readonly server: Server;
  /** PEM, its own root. */
  readonly certificate: string;
  /** All that were complete, in order. */
  readonly requests: readonly Received[];
  /** TCP connections so far, whatever became of them. */
  readonly connections: number;
  /** @param path with a slash at its start */
  url(path?: string): string;
  /** The first one that was not taken yet, also when it is still to come. */
  next(): Promise<Received>;
}

/** Ends with the test. Without an answer of the test's, every message gets 204. */
export async function startTlsReceiver(
  t: Lifetime,
  answer: AnswerMessage = (_, response) => response.writeHead(204).end(),
  options: TlsReceiverOptions = {},
): Promise<TlsReceiver> {
  const { key, certificate } = options.identity ?? createSelfSigned(options.subjects);
  const requests: Received[] = [];
  const arrivals = new EventTarget();
  let taken = 0;
  let connections = 0;
  const server = createServer({ key, cert: certificate }, async (request, response) => {
    const received = await read(request).catch(() => undefined);
    if (received === undefined) return;
    requests.push(received);
    arrivals.dispatchEvent(new Event("arrival"));
    answer(received, response);
  });
  // The test decides when, and by which side, idle connections are closed.
  server.keepAliveTimeout = 60_000;
  server.on("connection", () => connections++);
  server.listen(options.port ?? 0, options.host ?? "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    server,
    certificate,
    requests,
    get connections() {
      return connections;
    },
    url: (path = "/") => `https://localhost:${port}${path}`,
    async next() {
      const index = taken++;
      const signal = AbortSignal.timeout(PATIENCE_MS);
      while (requests[index] === undefined) await once(arrivals, "arrival", { signal });
      return requests[index];
    },
  };
}

async function read(request: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const { method = "", url = "", headers, socket } = request;
  const { servername } = socket as { readonly servername?: string | false };
  const body = Buffer.concat(chunks);
  return { method, path: url, headers, body, serverName: servername || "" };
}
