import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { Actor } from "../../core/actor.ts";
import { stateOf } from "../../core/grant.ts";
import { includesPower, isPermitted } from "../../core/scopes.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { type ReviewedGrant, reviewGrant } from "../../steps/grants/reviewGrants.ts";
import { lockGrant, markRevoked } from "../../storage/sql/grants/grants.ts";

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
    const revokedAt = await tx.now();
    if (stateOf(grant, revokedAt) !== "active") return grant;
    const revokedBy: Actor = `reviewer:${reviewerId}`;
    await markRevoked(tx, grant, revokedAt, revokedBy);
    await appendAudit(tx, context.random, {
      at: revokedAt,
      projectId,
      kind: "grant.revoked",
      actor: revokedBy,
      subject: `grant:${id}`,
      detail: { calls: grant.calls },
    });
    return { ...grant, revokedAt, revokedBy };
  });
  return reviewGrant(context.store, revoked);
}
