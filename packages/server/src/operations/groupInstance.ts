import { Problem } from "@countersign/protocol";
import { appendAudit } from "../audit/append-audit.ts";
import type { Context } from "../context.ts";
import { assertGroups, toGroups } from "../core/groups.ts";
import { assertMay } from "../identity/assert-may.ts";
import type { ReviewerCaller } from "../identity/caller.ts";
import { readReviewerByName } from "../storage/sql/holders.ts";
import { assignInstance, lockInstance } from "../storage/sql/instances.ts";
import type { Transaction } from "../storage/store.ts";

export interface InstanceChange {
  /** All groups from now on; undefined stays as it is. */
  readonly groups: readonly string[] | undefined;
  /** Name of a reviewer of the project; null for nobody; undefined stays as it is. */
  readonly owner: string | null | undefined;
}

/**
 * Puts an instance into groups, and names its owner. Both hold for what is asked and decided from
 * then on; a pending request keeps the rules that it was judged by.
 *
 * @throws Problem `forbidden` when the role may not publish, `not_found`, `invalid_request` when a
 *   group has no proper name or there is no such reviewer
 */
export async function groupInstance(
  { store, random }: Pick<Context, "store" | "random">,
  caller: ReviewerCaller,
  id: string,
  change: InstanceChange,
): Promise<void> {
  assertMay(caller, "publish");
  if (change.groups !== undefined) assertGroups(change.groups);
  const { projectId } = caller;
  const key = { projectId, instanceId: id };
  await store.transact(async (tx) => {
    const instance = await lockInstance(tx, "update", key);
    if (instance === undefined || instance.deletedAt !== null) throw new Problem("not_found");
    const groups = change.groups === undefined ? instance.groups : toGroups(change.groups);
    const { owner } = change;
    const ownerId = owner === undefined ? instance.ownerId : await ownerIdOf(tx, projectId, owner);
    if (groups.join() === instance.groups.join() && ownerId === instance.ownerId) return;
    await assignInstance(tx, key, { groups, ownerId });
    await appendAudit(tx, random, {
      at: await tx.now(),
      projectId,
      kind: "instance.grouped",
      actor: `reviewer:${caller.reviewerId}`,
      subject: `instance:${id}`,
      detail: { groups, owner_id: ownerId },
    });
  });
}

/**
 * The id of the reviewer who is to own an instance.
 *
 * @throws Problem `invalid_request` when the project has no such reviewer
 */
export async function ownerIdOf(
  tx: Transaction,
  projectId: string,
  name: string | null,
): Promise<string | null> {
  if (name === null) return null;
  const reviewer = await readReviewerByName(tx, projectId, name);
  if (reviewer === undefined || reviewer.removedAt !== null) {
    const message = "owner must be the name of a reviewer of this project.";
    throw new Problem("invalid_request", message, { param: "owner" });
  }
  return reviewer.id;
}
