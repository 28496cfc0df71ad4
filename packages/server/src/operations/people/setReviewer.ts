import type { Context } from "../../context.ts";
import { assertGroups, toGroups } from "../../core/groups.ts";
import { unknownReviewer } from "../../core/not-found.ts";
import type { ReviewerRole } from "../../core/roles.ts";
import { projectNamed, writeReviewerChange } from "../../steps/people/writeReviewerChange.ts";
import {
  lockProject,
  lockReviewerByName,
  type StoredReviewer,
} from "../../storage/sql/access/holders.ts";

export interface ReviewerChange {
  readonly project: string;
  readonly name: string;
  /** Undefined: unchanged. */
  readonly role: ReviewerRole | undefined;
  /** Replaces all groups; undefined: unchanged. */
  readonly groups: readonly string[] | undefined;
}

/**
 * Changes role and groups of a reviewer, at once and for all tokens. Votes count by the voters'
 * permissions at the time of the decision.
 *
 * @throws Problem `not_found`; `invalid_request` for an invalid group name
 */
export async function setReviewer(
  { store, random }: Pick<Context, "store" | "random">,
  { project, name, role, groups }: ReviewerChange,
): Promise<StoredReviewer> {
  if (groups !== undefined) assertGroups(groups);
  return store.transact(async (tx) => {
    const projectId = await projectNamed(tx, project);
    await lockProject(tx, projectId);
    const reviewer = await lockReviewerByName(tx, projectId, name);
    if (reviewer === undefined || reviewer.removedAt !== null) {
      throw unknownReviewer(name);
    }
    const changed = {
      ...reviewer,
      role: role ?? reviewer.role,
      groups: groups === undefined ? reviewer.groups : toGroups(groups),
    };
    return writeReviewerChange(tx, random, projectId, reviewer, changed, "operator:cli");
  });
}
