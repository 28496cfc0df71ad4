/** Checks whether a reviewer may authenticate, and makes them a caller. */

import type { ReviewerCaller } from "../../identity/caller.ts";
import { readEnabledPersons, type StoredReviewer } from "../../storage/sql/access/holders.ts";
import type { Reader } from "../../storage/store.ts";

/** Whether a reviewer was neither removed, nor is a person who is disabled. */
export async function mayAuthenticate(
  reader: Reader,
  { removedAt, personId }: Pick<StoredReviewer, "removedAt" | "personId">,
): Promise<boolean> {
  if (removedAt !== null) return false;
  return personId === null || (await readEnabledPersons(reader, [personId])).has(personId);
}

/** A reviewer who was found and not removed, as a caller. */
export function toReviewerCaller(
  { id: reviewerId, name, role, groups, isBot, personId }: StoredReviewer,
  through: Pick<ReviewerCaller, "credentialId" | "tokenHash" | "projectId" | "scopes" | "session">,
): ReviewerCaller {
  return { kind: "reviewer", ...through, reviewerId, name, role, groups, isBot, personId };
}
