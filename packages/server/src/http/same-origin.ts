/**
 * Checks that a browser's exchange comes from a page of this server. Browsers send cookies
 * automatically, so a cookie does not prove that the user acted.
 *
 * @see Fetch Metadata (Sec-Fetch-Site); RFC 6454 section 7 (Origin)
 */

import { Problem } from "@countersign/protocol";
import type { FastifyRequest } from "fastify";

/** Methods without side effects. */
const SAFE_METHODS = ["GET", "HEAD", "OPTIONS"];

/**
 * Admits safe methods, and requests that the browser marks as same-origin. Rejects requests without
 * both headers: every supported browser sends at least one.
 *
 * @param origin of this server, as browsers write it
 * @throws Problem `cross_origin`
 */
export function assertSameOrigin(
  { method, headers }: Pick<FastifyRequest, "method" | "headers">,
  origin: string,
): void {
  if (SAFE_METHODS.includes(method)) return;
  const site = headers["sec-fetch-site"];
  const isOurs = site === undefined ? headers.origin === origin : site === "same-origin";
  if (!isOurs) throw new Problem("cross_origin");
}

/** Values of `Sec-Fetch-Site` for a navigation that another site started. */
const ELSEWHERE: readonly unknown[] = ["cross-site", "same-site"];

/**
 * For a GET that writes an audit entry: a link on another site must not start it. Admits typed
 * addresses and programs that send no header.
 *
 * @throws Problem `cross_origin`
 */
export function assertNotCrossSite({ headers }: Pick<FastifyRequest, "headers">): void {
  if (ELSEWHERE.includes(headers["sec-fetch-site"])) throw new Problem("cross_origin");
}
