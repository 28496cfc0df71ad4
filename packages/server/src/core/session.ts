/**
 * Lifetimes of sessions. Pure: the caller passes the time.
 */

/** Maximum lifetime, independent of use. */
export const SESSION_LIFETIME_MS = 12 * 3_600_000;

/** Maximum time between two uses. */
export const SESSION_IDLE_MS = 3_600_000;

/** The last use is stored again when the stored one is older than this. */
export const SESSION_SEEN_MS = 60_000;

/** How long a sign-in counts as recent. */
export const SESSION_FRESH_MS = 10 * 60_000;

/** Maximum duration of a sign-in at the identity provider. */
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

/** True when the last use must be stored again. */
export function isLastSeenStale({ seenAt }: Pick<SessionTimes, "seenAt">, now: number): boolean {
  return now >= seenAt + SESSION_SEEN_MS;
}

/** True when the sign-in is recent enough to change credentials without the old one. */
export function isFresh({ createdAt }: Pick<SessionTimes, "createdAt">, now: number): boolean {
  return now < createdAt + SESSION_FRESH_MS;
}
