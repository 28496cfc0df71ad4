/**
 * Lifetimes of sessions. Pure: the caller passes the time.
 */

/** However much it is used. */
export const SESSION_LIFETIME_MS = 12 * 3_600_000;

/** Without being used. */
export const SESSION_IDLE_MS = 3_600_000;

/** Its last use is written down when it is older than this. */
export const SESSION_SEEN_MS = 60_000;

/** How long a sign-in counts as fresh. */
export const SESSION_FRESH_MS = 10 * 60_000;

/** How long a sign-in at the identity provider may take. */
export const OIDC_CEREMONY_MS = 5 * 60_000;

interface SessionTimes {
  readonly createdAt: number;
  readonly seenAt: number;
  readonly expiresAt: number;
}

/** @param now epoch ms */
export function isLive({ seenAt, expiresAt }: SessionTimes, now: number): boolean {
  return now < expiresAt && now < seenAt + SESSION_IDLE_MS;
}

/** Whether its use is to be written down again. */
export function isLastSeenStale({ seenAt }: Pick<SessionTimes, "seenAt">, now: number): boolean {
  return now >= seenAt + SESSION_SEEN_MS;
}

/** Whether the sign-in is fresh enough to change keys without the old one. */
export function isFresh({ createdAt }: Pick<SessionTimes, "createdAt">, now: number): boolean {
  return now < createdAt + SESSION_FRESH_MS;
}
