import { Problem } from "@countersign/protocol";
import { isFresh } from "../core/session.ts";
import type { StoredSession } from "../storage/sql/sign-in/sessions.ts";

/**
 * For what outlives a session: who finds an open browser must not be able to stay.
 *
 * @param what the operation that a fresh sign-in permits, as the rest of a sentence
 * @throws Problem `forbidden`
 */
export function assertFresh(session: StoredSession, now: number, what: string): void {
  if (isFresh(session, now)) return;
  const message = `You signed in more than 10 minutes ago. Sign in again, then ${what}.`;
  throw new Problem("forbidden", message);
}
