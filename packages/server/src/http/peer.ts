/** Facts about the client of a request: the address for rate limits, and the user agent. */

import type { FastifyRequest } from "fastify";
import { countedNetwork } from "../core/address.ts";

/**
 * The address of the connection. Behind `trusted_proxies`, the rightmost address of
 * `X-Forwarded-For` that is not a trusted proxy.
 *
 * @returns the same text for all addresses that one machine can choose
 */
export function peerOf({ ip }: { readonly ip: FastifyRequest["ip"] | undefined }): string {
  // Undefined once the connection is closed.
  return countedNetwork(ip ?? "");
}

/** The `User-Agent` header, or an empty string. */
export function userAgentOf({ headers }: FastifyRequest): string {
  return headers["user-agent"] ?? "";
}
