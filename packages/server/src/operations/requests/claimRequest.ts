/** Claims of requests: a reviewer states that they review a request. */

import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { votingGroups } from "../../core/scopes.ts";
import { assertMayVote, deciderOf, refusalOf } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { currentCaller } from "../../steps/access/currentCaller.ts";
import { claimRefusal } from "../../steps/requests/claimRefusal.ts";
import { lockPending } from "../../steps/requests/lockPending.ts";
import {
  deleteClaim,
  type RequestClaim,
  readRequestClaims,
  writeClaim,
} from "../../storage/sql/requests/claims.ts";

/** A claim ends by itself after this time. */
export const CLAIM_MS = 10 * 60_000;

/**
 * Claims a pending request, or extends the caller's claim. A claim gives no right: every reviewer
 * who may decide still may.
 *
 * @param takesOver true: replaces the claim of another reviewer
 * @returns false when another reviewer has claimed the request
 * @throws Problem `forbidden` for a reviewer who may not decide the request; `not_found`;
 * `already_terminal`
 */
export async function claimRequest(
  context: Context,
  caller: ReviewerCaller,
  id: string,
  takesOver: boolean,
): Promise<boolean> {
  assertMayVote(caller);
  const { projectId, reviewerId } = caller;
  return context.store.transact(async (tx) => {
    const request = await lockPending(tx, projectId, id);
    const current = await currentCaller(tx, caller);
    assertMayVote(current);
    const refusal = await claimRefusal(tx, request, deciderOf(current));
    if (refusal !== undefined) throw new Problem("forbidden", refusal);
    const now = await tx.now();
    const [earlier] = await readRequestClaims(tx, projectId, [id], now);
    const isOfAnother = earlier !== undefined && earlier.reviewerId !== reviewerId;
    if (isOfAnother && !takesOver) return false;
    const claim: RequestClaim = { requestId: id, reviewerId, at: now, until: now + CLAIM_MS };
    await writeClaim(tx, projectId, claim);
    await appendAudit(tx, context.random, {
      at: now,
      projectId,
      kind: "request.claimed",
      actor: `reviewer:${reviewerId}`,
      subject: `request:${id}`,
      detail: { in_place_of: isOfAnother ? `reviewer:${earlier.reviewerId}` : undefined },
    });
    tx.onCommit(() => context.wake.signal({ kind: "voted", projectId, requestId: id }));
    return true;
  });
}

/**
 * Ends the caller's claim.
 *
 * @returns false when there was none
 * @throws Problem `forbidden` for a token without the scope `decide`; `not_found`;
 * `already_terminal`
 */
export async function releaseClaim(
  context: Context,
  caller: ReviewerCaller,
  id: string,
): Promise<boolean> {
  const { projectId, reviewerId, scopes } = caller;
  if (votingGroups(scopes)?.length === 0)
    throw new Problem("forbidden", refusalOf(caller, "decide"));
  return context.store.transact(async (tx) => {
    await lockPending(tx, projectId, id);
    const now = await tx.now();
    const [claim] = await readRequestClaims(tx, projectId, [id], now);
    if (claim?.reviewerId !== reviewerId) return false;
    await deleteClaim(tx, { projectId, id });
    await appendAudit(tx, context.random, {
      at: now,
      projectId,
      kind: "request.released",
      actor: `reviewer:${reviewerId}`,
      subject: `request:${id}`,
    });
    tx.onCommit(() => context.wake.signal({ kind: "voted", projectId, requestId: id }));
    return true;
  });
}
