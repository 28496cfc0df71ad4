import { Problem } from "@countersign/protocol";
import { appendAudit } from "../audit/append-audit.ts";
import type { Context } from "../context.ts";
import { assertGroups, toGroups } from "../core/groups.ts";
import type { ReviewerRole } from "../core/roles.ts";
import {
  lockReviewerByName,
  readProjects,
  type StoredReviewer,
  updateReviewer,
} from "../storage/sql/holders.ts";

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
    const [{ id: projectId } = { id: undefined }] = await readProjects(tx, project);
    if (projectId === undefined) {
      throw new Problem("not_found", "There is no project of this name.");
    }
    const reviewer = await lockReviewerByName(tx, projectId, name);
    if (reviewer === undefined || reviewer.removedAt !== null) {
      throw new Problem("not_found", "There is no reviewer of this name in the project.");
    }
    const changed = {
      ...reviewer,
      role: role ?? reviewer.role,
      groups: groups === undefined ? reviewer.groups : toGroups(groups),
    };
    const isSame =
      changed.role === reviewer.role && changed.groups.join() === reviewer.groups.join();
    if (isSame) return reviewer;
    await updateReviewer(tx, projectId, changed);
    await appendAudit(tx, random, {
      at: await tx.now(),
      projectId,
      kind: "reviewer.updated",
      actor: "operator:cli",
      subject: `reviewer:${reviewer.id}`,
      detail: { role: changed.role, groups: changed.groups },
    });
    return changed;
  });
}
