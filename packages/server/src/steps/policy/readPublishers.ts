/** Reads the names of the people who published, proposed or rejected policies. */

import type { Actor } from "../../core/actor.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import type { PolicyScope } from "../../identity/policy-authority.ts";
import { readReviewers } from "../../storage/sql/access/holders.ts";
import type {
  PolicyVersionOutline,
  StoredPolicyVersion,
} from "../../storage/sql/policy/policy-versions.ts";
import type { Reader } from "../../storage/store.ts";

const REVIEWER = "reviewer:";

/**
 * The names of authors, publishers and rejecters of policies.
 *
 * @returns by actor; without actors who are not reviewers of the caller's project, as is possible
 * for the baseline policy
 */
export async function readPublishers(
  reader: Reader,
  { projectId }: Pick<ReviewerCaller, "projectId">,
  versions: readonly Pick<PolicyVersionOutline, "publishedBy" | "proposedBy">[],
): Promise<ReadonlyMap<Actor, string>> {
  const actors = versions.flatMap(({ publishedBy, proposedBy }) => [publishedBy, proposedBy]);
  return readActorNames(reader, projectId, actors);
}

/** As {@link readPublishers}, for any actors. */
export async function readActorNames(
  reader: Reader,
  projectId: string,
  actors: readonly (Actor | null)[],
): Promise<ReadonlyMap<Actor, string>> {
  const ids = [...new Set(actors)]
    .filter((actor) => actor !== null)
    .filter((actor) => actor.startsWith(REVIEWER))
    .map((actor) => actor.slice(REVIEWER.length));
  const reviewers = await readReviewers(reader, projectId, ids);
  return new Map(reviewers.map(({ id, name }) => [`${REVIEWER}${id}` as Actor, name]));
}

export interface PublishedPolicy<V = StoredPolicyVersion> {
  readonly scope: PolicyScope;
  readonly version: V;
  /** Names of its author and publisher, if they belong to the caller's project. */
  readonly names: ReadonlyMap<Actor, string>;
}
