import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { ResolvableRequest } from "../../core/request.ts";
import { isPermitted } from "../../core/scopes.ts";
import { assertMayVote } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { currentCaller } from "../../steps/access/currentCaller.ts";
import { lockActiveReviewers } from "../../steps/access/readActiveReviewers.ts";
import { claimRefusal } from "../../steps/requests/claimRefusal.ts";
import { lockPending } from "../../steps/requests/lockPending.ts";
import { readPushAudience, renewPushMessage } from "../../storage/sql/push/push-messages.ts";
import { readRequestClaims, writeClaim } from "../../storage/sql/requests/claims.ts";
import type { Transaction } from "../../storage/store.ts";
import { CLAIM_MS } from "./claimRequest.ts";

/**
 * Gives the caller's claim to another reviewer who may decide the request, and notifies the
 * browsers of that reviewer. When that reviewer has the claim already, it changes nothing.
 *
 * @returns false when the caller has no claim
 * @throws Problem `forbidden`; `not_found`; `already_terminal`; `invalid_request` for a reviewer
 * who may not decide the request
 */
export async function handOverClaim(
  context: Context,
  caller: ReviewerCaller,
  id: string,
  receiverId: string,
): Promise<boolean> {
  assertMayVote(caller);
  const { projectId, reviewerId } = caller;
  return context.store.transact(async (tx) => {
    const request = await lockPending(tx, projectId, id);
    assertMayVote(await currentCaller(tx, caller));
    const now = await tx.now();
    if (receiverId === reviewerId) throw invalidReceiver();
    await assertMayReceive(tx, request, receiverId, now);
    const [claim] = await readRequestClaims(tx, projectId, [id], now);
    if (claim?.reviewerId !== reviewerId) return false;
    await writeClaim(tx, projectId, {
      requestId: id,
      reviewerId: receiverId,
      at: now,
      until: now + CLAIM_MS,
    });
    await appendAudit(tx, context.random, {
      at: now,
      projectId,
      kind: "request.handed_over",
      actor: `reviewer:${reviewerId}`,
      subject: `request:${id}`,
      detail: { to: `reviewer:${receiverId}` },
    });
    await notify(tx, context, request, receiverId, now);
    tx.onCommit(() => context.wake.signal({ kind: "voted", projectId, requestId: id }));
    return true;
  });
}

/** Locks the receiver, so that a concurrent removal is visible or waits for this transaction. */
async function assertMayReceive(
  tx: Transaction,
  request: ResolvableRequest,
  receiverId: string,
  now: number,
): Promise<void> {
  const [receiver] = await lockActiveReviewers(tx, request.projectId, [receiverId], now);
  if (receiver === undefined) throw invalidReceiver();
  const { role, ways } = receiver;
  if (!ways.some((scopes) => isPermitted({ role, scopes }, "decide"))) throw invalidReceiver();
  const refusal = await claimRefusal(tx, request, { ...receiver, forGroups: null });
  if (refusal !== undefined) throw invalidReceiver();
}

function invalidReceiver(): Problem {
  const message = "reviewer_id must be the id of another reviewer who can decide this request.";
  return new Problem("invalid_request", message, { param: "reviewer_id" });
}

/**
 * The preferences and quiet hours of the receiver apply when the message is sent. Repeated
 * hand-overs of a request notify a receiver once in the time of a claim.
 */
async function notify(
  tx: Transaction,
  { handOverNotices }: Pick<Context, "handOverNotices">,
  { projectId, id }: ResolvableRequest,
  receiverId: string,
  now: number,
): Promise<void> {
  const key = `${id} ${receiverId}`;
  if (handOverNotices.waitMs(key) > 0) return;
  tx.onCommit(() => void handOverNotices.take(key));
  const audience = await readPushAudience(tx, projectId);
  for (const { reviewerId, subscriptionId } of audience) {
    if (reviewerId === receiverId) {
      await renewPushMessage(tx, { projectId, id }, subscriptionId, now);
    }
  }
}
