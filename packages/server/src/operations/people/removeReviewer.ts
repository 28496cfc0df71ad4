/** Removes a reviewer from a project, for a reviewer or an operator. */

import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { Actor } from "../../core/actor.ts";
import { isAbove, roleAboveMessage } from "../../core/delegation.ts";
import { unknownReviewer } from "../../core/not-found.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { currentCaller } from "../../steps/access/currentCaller.ts";
import { assertPeopleRemain } from "../../steps/people/assertPeopleRemain.ts";
import { projectNamed } from "../../steps/people/writeReviewerChange.ts";
import { revokeCredentialsOf } from "../../storage/sql/access/credentials.ts";
import {
  lockProject,
  lockReviewer,
  lockReviewerByName,
  markReviewerRemoved,
  type StoredReviewer,
} from "../../storage/sql/access/holders.ts";
import { endManagement } from "../../storage/sql/sign-in/oidc-people.ts";
import type { Transaction } from "../../storage/store.ts";

/**
 * Removes a reviewer from the caller's project. All tokens are revoked, votes and grants no longer
 * count, and sessions lose access to the project. The name stays reserved, so that rules never name
 * another reviewer by it. Repeating it changes nothing.
 *
 * @throws Problem `forbidden` for a role above the caller's, and for the last reviewer who can
 * manage people; `not_found`
 */
export async function removeReviewer(
  { store, random }: Pick<Context, "store" | "random">,
  caller: ReviewerCaller,
  id: string,
): Promise<void> {
  assertMay(caller, "people");
  const { projectId } = caller;
  await store.transact(async (tx) => {
    await lockProject(tx, projectId);
    const remover = await currentCaller(tx, caller);
    assertMay(remover, "people");
    const reviewer = await lockReviewer(tx, "update", { projectId, id });
    if (reviewer === undefined) throw new Problem("not_found");
    if (isAbove(reviewer.role, remover.role)) {
      throw new Problem("forbidden", roleAboveMessage(reviewer.role));
    }
    // A manual removal also prevents the identity provider from adding the reviewer again.
    if (reviewer.removedAt !== null) return endManagement(tx, { projectId, id });
    await assertPeopleRemain(tx, projectId, reviewer, undefined);
    await remove(tx, random, projectId, reviewer, `reviewer:${remover.reviewerId}`);
  });
}

/**
 * As {@link removeReviewer}, for operators on the server. Also removes the last reviewer.
 *
 * @param project its name
 * @throws Problem `not_found`
 */
export async function removeReviewerNamed(
  { store, random }: Pick<Context, "store" | "random">,
  project: string,
  name: string,
): Promise<StoredReviewer> {
  return store.transact(async (tx) => {
    const projectId = await projectNamed(tx, project);
    await lockProject(tx, projectId);
    const reviewer = await lockReviewerByName(tx, projectId, name);
    if (reviewer === undefined) {
      throw unknownReviewer(name);
    }
    if (reviewer.removedAt === null) await remove(tx, random, projectId, reviewer, "operator:cli");
    else await endManagement(tx, { projectId, id: reviewer.id });
    return reviewer;
  });
}

async function remove(
  tx: Transaction,
  random: Context["random"],
  projectId: string,
  { id, name }: StoredReviewer,
  actor: Actor,
): Promise<void> {
  const at = await tx.now();
  await markReviewerRemoved(tx, { projectId, id }, at);
  const revoked = await revokeCredentialsOf(tx, id, at);
  await appendAudit(tx, random, {
    at,
    projectId,
    actor,
    kind: "reviewer.removed",
    subject: `reviewer:${id}`,
    detail: { name, tokens_revoked: revoked },
  });
}
