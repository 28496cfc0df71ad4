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
  /** Undefined stays as it is. */
  readonly role: ReviewerRole | undefined;
  /** All groups from now on; undefined stays as it is. */
  readonly groups: readonly string[] | undefined;
}

/**
 * Changes what a reviewer may do and is asked for, at once and with all their tokens. Votes that
 * were cast count by what their voters are when a request is decided.
 *
 * @throws Problem `not_found`; `invalid_request` when a group has no proper name
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
