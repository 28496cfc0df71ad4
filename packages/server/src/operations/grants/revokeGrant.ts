import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { includesPower, isPermitted } from "../../core/scopes.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { type ReviewedGrant, reviewGrant } from "../../steps/grants/reviewGrants.ts";
import { revokeLocked } from "../../steps/grants/revokeLocked.ts";
import { lockGrant } from "../../storage/sql/grants/grants.ts";

/**
 * Revokes a grant. No later call is approved with it. A grant that is already over is unchanged.
 *
 * @throws Problem `forbidden` unless the caller created it or may freeze or publish; `not_found`
 */
export async function revokeGrant(
  context: Context,
  caller: ReviewerCaller,
  id: string,
): Promise<ReviewedGrant> {
  const { projectId, reviewerId } = caller;
  const revoked = await context.store.transact(async (tx) => {
    const grant = await lockGrant(tx, { projectId, id });
    if (grant === undefined) throw new Problem("not_found");
    // The creator may revoke it with any current role, but not with a token for other purposes.
    const isOwn = grant.reviewerId === reviewerId && includesPower(caller.scopes, "decide");
    if (!isOwn && !isPermitted(caller, "freeze") && !isPermitted(caller, "publish")) {
      throw new Problem("forbidden", "Your role can read grants but cannot revoke them.");
    }
    return revokeLocked(tx, context, grant, reviewerId);
  });
  return reviewGrant(context.store, revoked);
}
