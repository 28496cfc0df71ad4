import type { Actor } from "../core/request.ts";
import type { ReviewerCaller } from "../identity/caller.ts";
import { readReviewers } from "../storage/sql/holders.ts";
import type { PolicyVersionOutline } from "../storage/sql/policy-versions.ts";
import type { Reader } from "../storage/store.ts";

const REVIEWER = "reviewer:";

/**
 * The names of those who published.
 *
 * @returns by actor; those who are no reviewers of the caller's project are absent, as they can
 *   be for the floor
 */
export async function readPublishers(
  reader: Reader,
  { projectId }: Pick<ReviewerCaller, "projectId">,
  versions: readonly PolicyVersionOutline[],
): Promise<ReadonlyMap<Actor, string>> {
  const actors = new Set(versions.map(({ publishedBy }) => publishedBy));
  const ids = [...actors]
    .filter((actor) => actor.startsWith(REVIEWER))
    .map((actor) => actor.slice(REVIEWER.length));
  const reviewers = await readReviewers(reader, projectId, ids);
  return new Map(reviewers.map(({ id, name }) => [`${REVIEWER}${id}` as Actor, name]));
}
