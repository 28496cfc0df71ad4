import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { isAbove, joinRefusal, roleRefusal } from "../../core/delegation.ts";
import { assertGroups, toGroups } from "../../core/groups.ts";
import type { ReviewerRole } from "../../core/roles.ts";
import { assertFresh } from "../../identity/assert-fresh.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { currentCaller } from "../../steps/access/currentCaller.ts";
import { assertPeopleRemain } from "../../steps/people/assertPeopleRemain.ts";
import { writeReviewerChange } from "../../steps/people/writeReviewerChange.ts";
import {
  lockProject,
  lockReviewer,
  type StoredReviewer,
} from "../../storage/sql/access/holders.ts";

/** Undefined fields stay unchanged. */
export interface RoleAndGroups {
  readonly role: ReviewerRole | undefined;
  /** Replaces all groups. */
  readonly groups: readonly string[] | undefined;
}

/**
 * Changes role and groups of a reviewer, at once and for all tokens.
 *
 * @throws Problem `forbidden` when the caller would grant more than they have, join a group, change
 * a reviewer with a higher role, leave no reviewer with the power `people`, or grant more without a
 * recent sign-in; `not_found`; `invalid_request` for an invalid group name
 */
export async function changeReviewer(
  { store, random }: Pick<Context, "store" | "random">,
  caller: ReviewerCaller,
  id: string,
  { role, groups }: RoleAndGroups,
): Promise<StoredReviewer> {
  assertMay(caller, "people");
  if (groups !== undefined) assertGroups(groups);
  const { projectId } = caller;
  return store.transact(async (tx) => {
    await lockProject(tx, projectId);
    const delegator = await currentCaller(tx, caller);
    assertMay(delegator, "people");
    const before = await lockReviewer(tx, "update", { projectId, id });
    if (before === undefined || before.removedAt !== null) throw new Problem("not_found");
    const after = {
      ...before,
      role: role ?? before.role,
      groups: groups === undefined ? before.groups : toGroups(groups),
    };
    const isSelf = id === delegator.reviewerId;
    const refusal = roleRefusal(delegator, after, before) ?? joinRefusal(isSelf, after, before);
    if (refusal !== undefined) throw new Problem("forbidden", refusal);
    if (caller.session !== null && addsAuthority(before, after)) {
      assertFresh(caller.session, await tx.now(), "assign more permissions");
    }
    await assertPeopleRemain(tx, projectId, before, after);
    return writeReviewerChange(
      tx,
      random,
      projectId,
      before,
      after,
      `reviewer:${delegator.reviewerId}`,
    );
  });
}

function addsAuthority(before: StoredReviewer, after: StoredReviewer): boolean {
  return (
    isAbove(after.role, before.role) || after.groups.some((group) => !before.groups.includes(group))
  );
}
