/** Checks whether a reviewer may authenticate, and creates the caller. */

import type { ReviewerCaller } from "../../identity/caller.ts";
import { readEnabledPersons, type StoredReviewer } from "../../storage/sql/access/holders.ts";
import type { Reader } from "../../storage/store.ts";

/** True unless the reviewer was removed or the user is disabled. */
export async function mayAuthenticate(
  reader: Reader,
  { removedAt, personId }: Pick<StoredReviewer, "removedAt" | "personId">,
): Promise<boolean> {
  if (removedAt !== null) return false;
  return personId === null || (await readEnabledPersons(reader, [personId])).has(personId);
}

/** The caller of an existing reviewer. */
export function toReviewerCaller(
  { id: reviewerId, name, role, groups, isBot, personId }: StoredReviewer,
  through: Pick<ReviewerCaller, "credentialId" | "tokenHash" | "projectId" | "scopes" | "session">,
): ReviewerCaller {
  return { kind: "reviewer", ...through, reviewerId, name, role, groups, isBot, personId };
}
