/**
 * Opens TLS connections to checked addresses. It dials the address; the name is only verified in
 * the certificate. There is no second DNS lookup in between.
 *
 * A forward proxy receives names unresolved and must reject non-public addresses.
 */

import { constants } from "node:crypto";
import type { RequestOptions } from "node:https";
import type { Socket } from "node:net";
import {
  type ConnectionOptions,
  connect,
  createSecureContext,
  getCACertificates,
  type SecureContext,
  type TLSSocket,
} from "node:tls";
import type { WebhookUrl } from "@countersign/protocol";
import type { Clock } from "../clock.ts";
import { type AddressRules, mayConnect, parseAddress } from "../core/address.ts";

// As in http/create-http-server.ts: an import as modules loads an unused client.
const { request: requestHttp } = process.getBuiltinModule("node:http");
const { request: requestHttps } = process.getBuiltinModule("node:https");

/**
 * Why no connection was established: rejected or timed out, no TLS with a valid certificate for the
 * host, or a forbidden address.
 */
export type DialFailure = "connect" | "tls" | "refused";

/**
 * @param address checked by the caller; unused behind a proxy
 * @param timeoutMs time limit including TLS
 * @returns a connection with a verified certificate, on which nothing was sent
 * @throws never; an aborted signal is a failure
 */
export type Dial = (
  url: WebhookUrl,
  address: string,
  timeoutMs: number,
  signal: AbortSignal,
) => Promise<TLSSocket | DialFailure>;

export interface DialOptions {
  readonly rules: AddressRules;
  readonly clock: Clock;
  /** `http://` or `https://`, without credentials. The environment is ignored. */
  readonly proxyUrl?: string | undefined;
  /** PEM, trusted in addition to the roots of this process. For tests. */
  readonly ca?: readonly string[] | undefined;
}

/** @throws TypeError for an invalid proxy URL */
export function createDial(options: DialOptions): Dial {
  const { rules, clock } = options;
  const proxy = options.proxyUrl === undefined ? undefined : new URL(options.proxyUrl);
  let secureContext: SecureContext | undefined;
  return async (url, address, timeoutMs, signal) => {
    const attempt = new AbortController();
    const abort = () => attempt.abort();
    signal.addEventListener("abort", abort, { once: true });
    const cancel = clock.after(timeoutMs, abort);
    if (signal.aborted) abort();
    try {
      // Created at the first use, because reading the roots delays a start.
      secureContext ??= trust(options.ca);
      const secure = { ...SECURE, secureContext, servername: url.isAddress ? "" : url.host };
      if (proxy === undefined) {
        const to = { host: address, port: url.port };
        const isExpected = ({ remoteAddress = "" }: Socket) => mayConnect(rules, remoteAddress);
        return await openTls({ ...secure, ...to }, attempt.signal, isExpected);
      }
      const socket = await openTunnel(proxy, url, attempt.signal);
      if (typeof socket === "string") return socket;
      return await openTls({ ...secure, socket, host: url.host }, attempt.signal, () => true);
    } finally {
      cancel();
      signal.removeEventListener("abort", abort);
    }
  };
}

/** An IP literal has no server name (RFC 6066 section 3). Node then verifies it as an address. */
const SECURE: ConnectionOptions = {
  ALPNProtocols: ["http/1.1"],
  // Explicit, because an environment variable could disable it.
  rejectUnauthorized: true,
};

function trust(ca: readonly string[] | undefined): SecureContext {
  return createSecureContext({
    minVersion: "TLSv1.2",
    // The certificate is verified once for each connection.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    ...(ca && { ca: [...getCACertificates("default"), ...ca] }),
  });
}

/** @param isExpected checks the remote address of the open connection */
function openTls(
  options: ConnectionOptions,
  signal: AbortSignal,
  isExpected: (socket: Socket) => boolean,
): Promise<TLSSocket | DialFailure> {
  return new Promise((settle) => {
    let failure: DialFailure = options.socket === undefined ? "connect" : "tls";
    const socket = connect(options);
    const abort = () => socket.destroy();
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    socket.once("connect", () => {
      socket.setNoDelay(true);
      failure = "tls";
    });
    socket.once("secureConnect", () => {
      signal.removeEventListener("abort", abort);
      if (isExpected(socket)) return settle(socket);
      failure = "refused";
      socket.destroy();
    });
    // Every failure emits close. The error listener stays, so that no error is unhandled.
    socket.once("close", () => {
      signal.removeEventListener("abort", abort);
      settle(failure);
    });
    socket.on("error", () => undefined);
  });
}

/** Status codes of proxies that reject the address. */
const PROXY_REFUSALS = [403, 407];
const HEADER_BYTES_MAX = 8_192;

/** @see RFC 9110 section 9.3.6 */
function openTunnel(
  proxy: URL,
  url: WebhookUrl,
  signal: AbortSignal,
): Promise<Socket | DialFailure> {
  const isIpv6 = url.isAddress && url.host.includes(":");
  const target = `${isIpv6 ? `[${url.host}]` : url.host}:${url.port}`;
  const request = proxy.protocol === "https:" ? requestHttps : requestHttp;
  const host = proxy.hostname.replace(/^\[|\]$/g, "");
  return new Promise((settle) => {
    const sent = request({
      method: "CONNECT",
      host,
      // Otherwise Node would use the Host header, which names the receiver.
      servername: parseAddress(host) === undefined ? host : "",
      port: proxy.port || (proxy.protocol === "https:" ? 443 : 80),
      path: target,
      headers: { host: target },
      // The global agent could use a proxy from the environment.
      agent: false,
      rejectUnauthorized: true,
      maxHeaderSize: HEADER_BYTES_MAX,
      signal,
    } satisfies RequestOptions);
    sent.on("error", () => settle("connect"));
    sent.once("connect", ({ statusCode = 0 }, socket: Socket, head) => {
      socket.on("error", () => undefined);
      // A TLS server sends nothing before the handshake starts.
      if (statusCode >= 200 && statusCode <= 299 && head.length === 0) return settle(socket);
      socket.destroy();
      settle(PROXY_REFUSALS.includes(statusCode) ? "refused" : "connect");
    });
    sent.end();
  });
}
