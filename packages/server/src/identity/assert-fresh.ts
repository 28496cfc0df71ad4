import { Problem } from "@countersign/protocol";
import { isFresh } from "../core/session.ts";
import type { StoredSession } from "../storage/sql/sign-in/sessions.ts";

/**
 * Protects operations with effects beyond the session: a user at an unlocked browser must not gain
 * lasting access.
 *
 * @param what the operation that a fresh sign-in permits, as the rest of a sentence
 * @throws Problem `stale_sign_in`
 */
export function assertFresh(session: StoredSession, now: number, what: string): void {
  if (isFresh(session, now)) return;
  const message = `You signed in more than 10 minutes ago. Sign in again, then ${what}.`;
  throw new Problem("stale_sign_in", message);
}
