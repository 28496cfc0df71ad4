/**
 * What a request says about its client: the address that limits count by, and the user agent.
 */

import type { FastifyRequest } from "fastify";
import { countedNetwork } from "../core/address.ts";

/**
 * The address of the connection or, behind `trusted_proxies`, the rightmost address of
 * `X-Forwarded-For` that is not a trusted proxy.
 *
 * @returns the same for all addresses that one machine may give itself
 */
export function peerOf({ ip }: { readonly ip: FastifyRequest["ip"] | undefined }): string {
  // Undefined once the connection is closed.
  return countedNetwork(ip ?? "");
}

/** The `User-Agent` header, or an empty string. */
export function userAgentOf({ headers }: FastifyRequest): string {
  return headers["user-agent"] ?? "";
}
