/**
 * How long somebody who has signed in stays so. Pure: the time is given.
 *
 * Called by: operations that begin, use and erase sessions.
 */

/** However much it is used. */
export const SESSION_LASTS_MS = 12 * 3_600_000;

/** Without being used. */
export const SESSION_IDLE_MS = 3_600_000;

/** Its last use is written down when it is older than this. */
export const SESSION_SEEN_MS = 60_000;

/** For so long after signing in, somebody is believed to be still there. */
export const SESSION_FRESH_MS = 10 * 60_000;

/** How long somebody may be at the identity provider. */
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
export function isSeenLongAgo({ seenAt }: Pick<SessionTimes, "seenAt">, now: number): boolean {
  return now >= seenAt + SESSION_SEEN_MS;
}

/** Whether somebody signed in so lately that keys of theirs may be changed without the old one. */
export function isFresh({ createdAt }: Pick<SessionTimes, "createdAt">, now: number): boolean {
  return now < createdAt + SESSION_FRESH_MS;
}
