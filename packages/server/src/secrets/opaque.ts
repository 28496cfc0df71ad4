/**
 * Secrets that a browser brings back: what a session's cookie holds, what stands in a link, what
 * a ceremony began with. 256 random bits as 43 characters of base64url; stored as
 * {@link hashToken} makes it.
 */

import type { Random } from "../clock.ts";

const OPAQUE_BYTES = 32;

const OPAQUE = /^[A-Za-z0-9_-]{43}$/;

export function generateOpaque(random: Random): string {
  return Buffer.from(random.bytes(OPAQUE_BYTES)).toString("base64url");
}

/** Whether a text can be one of ours: others need no lookup. */
export function isOpaque(text: string): boolean {
  return OPAQUE.test(text);
}
