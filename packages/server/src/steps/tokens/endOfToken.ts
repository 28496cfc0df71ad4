import { Problem } from "@countersign/protocol";
import type { CurrentCaller } from "../access/currentCaller.ts";

/**
 * The expiry of a token that a caller issues.
 *
 * @param lastsMs undefined: expires with the caller's own token
 * @returns epoch ms; null for no expiry
 * @throws Problem `forbidden` when it would expire after the caller's token
 */
export function endOfToken(
  { expiresAt }: CurrentCaller,
  lastsMs: number | undefined,
  now: number,
): number | null {
  if (lastsMs === undefined) return expiresAt;
  const end = now + lastsMs;
  if (expiresAt !== null && end > expiresAt) {
    throw new Problem("forbidden", "The token cannot expire after the token that creates it.");
  }
  return end;
}
