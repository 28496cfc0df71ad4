import type { Scopes } from "../core/scopes.ts";
import { readLiveScopes } from "../storage/sql/credentials.ts";
import { readEnabledPersons, readReviewers, type StoredReviewer } from "../storage/sql/holders.ts";
import type { Reader } from "../storage/store.ts";

/** A reviewer who may still come in. */
export interface StandingReviewer extends StoredReviewer {
  /** What each way in leaves them: of every live token, and null for a person who may sign in. */
  readonly ways: readonly Scopes[];
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
