import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { Actor } from "../../core/actor.ts";
import { assertGroups, toGroups } from "../../core/groups.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { ownerIdOf } from "../../steps/instances/ownerIdOf.ts";
import { assertMayPropose, refusalToPublish } from "../../steps/policy/assertOtherPerson.ts";
import {
  type Assignment,
  type ProposedAssignment,
  readProposedAssignments,
  writeProposedAssignment,
} from "../../storage/sql/instances/instance-proposals.ts";
import { assignInstance, lockInstance } from "../../storage/sql/instances/instances.ts";
import { readTwoPerson } from "../../storage/sql/policy/policy-versions.ts";
import type { Transaction } from "../../storage/store.ts";

export interface InstanceChange {
  /** Replaces all groups; undefined: unchanged. */
  readonly groups?: readonly string[] | undefined;
  /** Name of a reviewer of the project; null: no owner; undefined: unchanged. */
  readonly owner?: string | null | undefined;
}

/**
 * Changes the groups and the owner of an instance. Both apply to later calls and decisions; a
 * pending request keeps its judgement.
 *
 * With the two-person rule, the first user's change becomes a proposal. It takes effect when
 * another user sends the same groups and owner. Other values replace the proposal; the current
 * values delete it.
 *
 * @returns whether the change is a proposal
 * @throws Problem `forbidden` when the role may not publish, or for a bot with the two-person rule;
 * `not_found`; `invalid_request` for an invalid group name or an unknown reviewer
 */
export async function groupInstance(
  { store, random }: Pick<Context, "store" | "random">,
  caller: ReviewerCaller,
  id: string,
  change: InstanceChange,
): Promise<{ readonly isProposed: boolean }> {
  assertMay(caller, "publish");
  if (change.groups !== undefined) assertGroups(change.groups);
  const { projectId } = caller;
  const key = { projectId, instanceId: id };
  return store.transact(async (tx) => {
    const instance = await lockInstance(tx, "update", key);
    if (instance === undefined || instance.deletedAt !== null) throw new Problem("not_found");
    await assertMayPropose(tx, caller, projectId);
    const { owner } = change;
    const wanted: Assignment = {
      groups: change.groups === undefined ? instance.groups : toGroups(change.groups),
      ownerId: owner === undefined ? instance.ownerId : await ownerIdOf(tx, projectId, owner),
    };
    const proposal = (await readProposedAssignments(tx, projectId, [id])).get(id);
    if (isSame(wanted, instance)) {
      if (proposal !== undefined) await writeProposedAssignment(tx, key, null);
      return { isProposed: false };
    }
    const isConfirmed = await isByTwoPeople(tx, caller, wanted, proposal);
    const now = await tx.now();
    const actor: Actor = `reviewer:${caller.reviewerId}`;
    const entry = { at: now, projectId, actor, subject: `instance:${id}` } as const;
    const detail = { groups: wanted.groups, owner_id: wanted.ownerId };
    if (!isConfirmed) {
      if (proposal?.proposedBy === actor && isSame(wanted, proposal)) return { isProposed: true };
      const proposed = { ...wanted, proposedBy: actor, proposedAt: now };
      await writeProposedAssignment(tx, key, proposed);
      await appendAudit(tx, random, { ...entry, kind: "instance.grouping_proposed", detail });
      return { isProposed: true };
    }
    await assignInstance(tx, key, wanted);
    if (proposal !== undefined) await writeProposedAssignment(tx, key, null);
    const proposer = proposal !== undefined && isSame(wanted, proposal) && proposal.proposedBy;
    await appendAudit(tx, random, {
      ...entry,
      kind: "instance.grouped",
      detail: proposer ? { ...detail, proposed_by: proposer } : detail,
    });
    return { isProposed: false };
  });
}

function isSame(one: Assignment, other: Assignment): boolean {
  return one.groups.join() === other.groups.join() && one.ownerId === other.ownerId;
}

/** True without the two-person rule, or when another user has proposed the same change. */
async function isByTwoPeople(
  tx: Transaction,
  caller: ReviewerCaller,
  wanted: Assignment,
  proposal: ProposedAssignment | undefined,
): Promise<boolean> {
  const { projectId } = caller;
  if (!(await readTwoPerson(tx, projectId))) return true;
  if (proposal === undefined || !isSame(wanted, proposal)) return false;
  const authored = { projectId, proposedBy: proposal.proposedBy, proposerProjectId: projectId };
  return (await refusalToPublish(tx, caller, authored)) === undefined;
}
