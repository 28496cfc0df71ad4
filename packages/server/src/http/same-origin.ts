/**
 * Whether a browser's exchange comes from a page of ours. What a browser sends along by itself,
 * like a cookie, proves only whose browser it is.
 *
 * @see Fetch Metadata (Sec-Fetch-Site); RFC 6454 section 7 (Origin)
 */

import { Problem } from "@countersign/protocol";
import type { FastifyRequest } from "fastify";

/** They change nothing here. */
const SAFE_METHODS = ["GET", "HEAD", "OPTIONS"];

/**
 * Lets through what changes nothing, and what a browser says to come from our own origin. Who says
 * nothing at all is refused: every browser that we serve says the one or the other.
 *
 * @param origin ours, as browsers write it
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
 * For a GET with an audit entry: no link on another site may start it. A typed address and a
 * program without the header pass.
 *
 * @throws Problem `cross_origin`
 */
export function assertNotCrossSite({ headers }: Pick<FastifyRequest, "headers">): void {
  if (ELSEWHERE.includes(headers["sec-fetch-site"])) throw new Problem("cross_origin");
}
