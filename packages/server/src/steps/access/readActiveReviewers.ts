/** Reads the reviewers whose votes count, with or without a lock on their rows. */

import type { Scopes } from "../../core/scopes.ts";
import { readLiveScopes } from "../../storage/sql/access/credentials.ts";
import {
  readEnabledPersons,
  readReviewers,
  type StoredReviewer,
} from "../../storage/sql/access/holders.ts";
import { lockPersons, lockReviewers, lockTokens } from "../../storage/sql/access/reviewer-locks.ts";
import type { Reader, Transaction } from "../../storage/store.ts";

/** A reviewer who can authenticate: neither removed nor disabled. */
export interface ActiveReviewer extends StoredReviewer {
  /** Scopes of every valid token, and null for a user who can sign in. */
  readonly ways: readonly Scopes[];
}

/**
 * As {@link readActiveReviewers}, and locks their rows. Transactions that remove, demote or disable
 * one of them, or revoke a token, wait for this transaction.
 *
 * @param now epoch ms
 */
export async function lockActiveReviewers(
  tx: Transaction,
  projectId: string,
  ids: readonly string[],
  now: number,
): Promise<ActiveReviewer[]> {
  if (ids.length === 0) return [];
  // Sent together and executed in this order.
  const [, , reviewers] = await Promise.all([
    lockReviewers(tx, projectId, ids),
    lockTokens(tx, projectId, ids),
    readReviewers(tx, projectId, ids),
  ]);
  const personIds = reviewers.flatMap(({ personId }) => personId ?? []);
  if (personIds.length > 0) await lockPersons(tx, personIds);
  return readActiveReviewers(tx, projectId, ids, now);
}

/**
 * The reviewers with these ids who can authenticate: neither removed nor disabled, with a valid
 * token or a sign-in. A vote counts while its voter could still cast it.
 *
 * @param now epoch ms
 */
export async function readActiveReviewers(
  reader: Reader,
  projectId: string,
  ids: readonly string[],
  now: number,
): Promise<ActiveReviewer[]> {
  const reviewers = await readReviewers(reader, projectId, ids);
  const present = reviewers.filter(({ removedAt }) => removedAt === null);
  const presentIds = present.map(({ id }) => id);
  const personIds = present.flatMap(({ personId }) => personId ?? []);
  const [tokens, persons] = await Promise.all([
    readLiveScopes(reader, presentIds, now),
    readEnabledPersons(reader, personIds),
  ]);
  return present
    .map((reviewer) => {
      const { id, personId } = reviewer;
      const ways = tokens.filter(({ holderId }) => holderId === id).map(({ scopes }) => scopes);
      if (personId === null) return { ...reviewer, ways };
      // A disabled user cannot authenticate with any token.
      return { ...reviewer, ways: persons.has(personId) ? [null, ...ways] : [] };
    })
    .filter(({ ways }) => ways.length > 0);
}
