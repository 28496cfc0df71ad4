/**
 * Secrets that browsers send back: session cookies, links and ceremonies. 256 random bits as 43
 * characters of base64url. The database stores their {@link hashToken}.
 */

import type { Random } from "../clock.ts";

const OPAQUE_BYTES = 32;

const OPAQUE = /^[A-Za-z0-9_-]{43}$/;

export function generateOpaque(random: Random): string {
  return Buffer.from(random.bytes(OPAQUE_BYTES)).toString("base64url");
}

/** False for texts in another form, which need no lookup. */
export function isOpaque(text: string): boolean {
  return OPAQUE.test(text);
}
