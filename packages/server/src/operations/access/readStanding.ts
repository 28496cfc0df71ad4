import type { Scopes } from "../../core/scopes.ts";
import { readLiveScopes } from "../../storage/sql/access/credentials.ts";
import {
  readEnabledPersons,
  readReviewers,
  type StoredReviewer,
} from "../../storage/sql/access/holders.ts";
import {
  holdPersons,
  holdReviewers,
  holdTokens,
} from "../../storage/sql/requests/standing-locks.ts";
import type { Reader, Transaction } from "../../storage/store.ts";

/** A reviewer who may still come in. */
export interface StandingReviewer extends StoredReviewer {
  /** What each way in leaves them: of every live token, and null for a person who may sign in. */
  readonly ways: readonly Scopes[];
}

/**
 * As {@link readStanding}, and they stay as they are until this transaction ends: who removes or
 * lowers one of them, disables them or ends a token waits for what is decided in their name.
 *
 * @param now epoch ms
 */
export async function lockStanding(
  tx: Transaction,
  projectId: string,
  ids: readonly string[],
  now: number,
): Promise<StandingReviewer[]> {
  if (ids.length === 0) return [];
  // Sent at once and answered one after another.
  const [, , reviewers] = await Promise.all([
    holdReviewers(tx, projectId, ids),
    holdTokens(tx, projectId, ids),
    readReviewers(tx, projectId, ids),
  ]);
  const personIds = reviewers.flatMap(({ personId }) => personId ?? []);
  if (personIds.length > 0) await holdPersons(tx, personIds);
  return readStanding(tx, projectId, ids, now);
}

/**
 * Those of these reviewers who are neither removed nor disabled, nor without a live token or a
 * sign-in: what somebody said before counts for as long as they could still say it.
 *
 * @param now epoch ms
 */
export async function readStanding(
  reader: Reader,
  projectId: string,
  ids: readonly string[],
  now: number,
): Promise<StandingReviewer[]> {
  const reviewers = await readReviewers(reader, projectId, ids);
  const there = reviewers.filter(({ removedAt }) => removedAt === null);
  const tokens = await readLiveScopes(
    reader,
    there.map(({ id }) => id),
    now,
  );
  const persons = await readEnabledPersons(
    reader,
    there.flatMap(({ personId }) => personId ?? []),
  );
  return there
    .map((reviewer) => {
      const { id, personId } = reviewer;
      const ways = tokens.filter(({ holderId }) => holderId === id).map(({ scopes }) => scopes);
      if (personId === null) return { ...reviewer, ways };
      // Whoever is disabled has no way in, whatever tokens they have.
      return { ...reviewer, ways: persons.has(personId) ? [null, ...ways] : [] };
    })
    .filter(({ ways }) => ways.length > 0);
}
