/** Writes a change of role and groups of a reviewer. */

import { appendAudit } from "../../audit/append-audit.ts";
import type { Random } from "../../clock.ts";
import type { Actor } from "../../core/actor.ts";
import { unknownProject } from "../../core/not-found.ts";
import {
  readProjects,
  type StoredReviewer,
  updateReviewer,
} from "../../storage/sql/access/holders.ts";
import type { Transaction } from "../../storage/store.ts";

/**
 * The id of a project.
 *
 * @throws Problem `not_found`
 */
export async function projectNamed(tx: Transaction, name: string): Promise<string> {
  const [project] = await readProjects(tx, name);
  if (project === undefined) throw unknownProject(name);
  return project.id;
}

/** Writes role and groups of a locked reviewer, with the audit entry, if they differ. */
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
