import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Random } from "../../clock.ts";
import type { Context } from "../../context.ts";
import type { Actor } from "../../core/actor.ts";
import { assertGroups, toGroups } from "../../core/groups.ts";
import type { ReviewerRole } from "../../core/roles.ts";
import {
  lockProject,
  lockReviewerByName,
  readProjects,
  type StoredReviewer,
  updateReviewer,
} from "../../storage/sql/access/holders.ts";
import type { Transaction } from "../../storage/store.ts";

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
      throw new Problem("not_found", "There is no reviewer of this name in the project.");
    }
    const changed = {
      ...reviewer,
      role: role ?? reviewer.role,
      groups: groups === undefined ? reviewer.groups : toGroups(groups),
    };
    return writeReviewerChange(tx, random, projectId, reviewer, changed, "operator:cli");
  });
}

/**
 * The id of a project.
 *
 * @throws Problem `not_found`
 */
export async function projectNamed(tx: Transaction, name: string): Promise<string> {
  const [project] = await readProjects(tx, name);
  if (project === undefined) throw new Problem("not_found", "There is no project of this name.");
  return project.id;
}

/** Writes role and groups of a locked reviewer, with the audit entry, if they are others. */
export async function writeReviewerChange(
  tx: Transaction,
  random: Random,
  projectId: string,
  before: StoredReviewer,
  after: StoredReviewer,
  actor: Actor,
): Promise<StoredReviewer> {
  const isSame = after.role === before.role && after.groups.join() === before.groups.join();
  if (isSame) return before;
  await updateReviewer(tx, projectId, after);
  await appendAudit(tx, random, {
    at: await tx.now(),
    projectId,
    kind: "reviewer.updated",
    actor,
    subject: `reviewer:${after.id}`,
    detail: { role: after.role, groups: after.groups },
  });
  return after;
}
