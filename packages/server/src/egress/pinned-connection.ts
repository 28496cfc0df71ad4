/**
 * Opens TLS connections to addresses that were checked before: the address is what is dialled,
 * the name is only what the certificate must show. No second lookup happens in between.
 *
 * With a forward proxy, names are handed to it unresolved and it has to refuse what is not public.
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

// As in http/create-http-server.ts: importing them as modules loads a client that is not used.
const { request: requestHttp } = process.getBuiltinModule("node:http");
const { request: requestHttps } = process.getBuiltinModule("node:https");

/**
 * Why there is no connection: refused or timed out, no TLS with a valid certificate for the host,
 * or an address that may not be reached.
 */
export type DialFailure = "connect" | "tls" | "refused";

/**
 * @param address checked by the caller; not used behind a proxy
 * @param timeoutMs for everything, TLS included
 * @returns a connection whose certificate is verified and on which nothing was sent
 * @throws never; an aborted signal is a failure like another
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
  /** `http://` or `https://`, without credentials. Never taken from the environment. */
  readonly proxyUrl?: string | undefined;
  /** PEM, trusted besides the roots of this process. For tests; operators use their own roots. */
  readonly ca?: readonly string[] | undefined;
}

/** @throws TypeError when the proxy's URL is none */
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
      // Made when it is first needed: reading the roots takes time that a start does not have.
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

/** An IP literal has no server name (RFC 6066 section 3); Node then checks it as an address. */
const SECURE: ConnectionOptions = {
  ALPNProtocols: ["http/1.1"],
  // Said out loud, because an environment variable could say otherwise.
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

/** @param isExpected judges the open connection once more: did it reach what was meant? */
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
    // Every end comes here. The listener for errors stays, so that none is ever unheard.
    socket.once("close", () => {
      signal.removeEventListener("abort", abort);
      settle(failure);
    });
    socket.on("error", () => undefined);
  });
}

/** Proxies say with these that they will not connect to this address. */
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
      // Node would take the name from the Host header, which is the receiver's.
      servername: parseAddress(host) === undefined ? host : "",
      port: proxy.port || (proxy.protocol === "https:" ? 443 : 80),
      path: target,
      headers: { host: target },
      // Not the global agent, which could use another proxy from the environment.
      agent: false,
      rejectUnauthorized: true,
      maxHeaderSize: HEADER_BYTES_MAX,
      signal,
    } satisfies RequestOptions);
    sent.on("error", () => settle("connect"));
    sent.once("connect", ({ statusCode = 0 }, socket: Socket, head) => {
      socket.on("error", () => undefined);
      // A TLS server sends nothing before the handshake has begun.
      if (statusCode >= 200 && statusCode <= 299 && head.length === 0) return settle(socket);
      socket.destroy();
      settle(PROXY_REFUSALS.includes(statusCode) ? "refused" : "connect");
    });
    sent.end();
  });
}
