import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { isClosed, type Resolution } from "../../core/request.ts";
import { votingGroups } from "../../core/scopes.ts";
import { refusalOf } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { resolveRequest } from "../../steps/requests/resolveRequest.ts";
import { lockForResolution } from "../../storage/sql/requests/requests.ts";
import { deleteVote, readVotes } from "../../storage/sql/requests/votes.ts";
import type { Transaction } from "../../storage/store.ts";

/** Whether there was a vote, and the decision if the request turned out to be resolved. */
interface Outcome {
  readonly withdrawn: boolean;
  readonly ended: Resolution | undefined;
}

/**
 * Withdraws the caller's approval of a pending request. Of a concurrent deciding verdict and the
 * withdrawal, one is first. Can be repeated. Requires no role, because the vote would count again
 * if the reviewer regained it.
 *
 * @returns whether there was one
 * @throws Problem `forbidden` when the scopes of the token do not cover the vote; `not_found`;
 * `already_terminal` when the request was resolved
 */
export async function withdrawVote(
  context: Context,
  caller: ReviewerCaller,
  id: string,
): Promise<boolean> {
  const forGroups = votingGroups(caller.scopes);
  if (forGroups?.length === 0) throw new Problem("forbidden", refusalOf(caller, "decide"));
  const { withdrawn, ended } = await context.store.transact((tx) =>
    withdrawLocked(tx, context, caller, id),
  );
  if (ended === undefined || ended.kind === "not_due") return withdrawn;
  throw new Problem("already_terminal", `The request is already ${ended.decision.status}.`);
}

async function withdrawLocked(
  tx: Transaction,
  context: Context,
  { projectId, reviewerId, scopes }: ReviewerCaller,
  id: string,
): Promise<Outcome> {
  const request = await lockForResolution(tx, { projectId, id });
  if (request === undefined) throw new Problem("not_found");
  const votes = await readVotes(tx, projectId, [id]);
  const vote = votes.find((each) => each.reviewerId === reviewerId);
  if (vote === undefined) return { withdrawn: false, ended: undefined };
  const forGroups = votingGroups(scopes);
  if (forGroups !== null && vote.forGroups?.every((group) => forGroups.includes(group)) !== true) {
    throw new Problem("forbidden", "The scopes of this token do not cover this vote.");
  }
  if (request.decision !== null) {
    return { withdrawn: false, ended: { kind: "already_terminal", decision: request.decision } };
  }
  const now = await tx.now();
  if (isClosed(request, now)) {
    const ended = await resolveRequest(tx, context, request, { status: "expired" });
    return { withdrawn: false, ended };
  }
  await deleteVote(tx, vote);
  await appendAudit(tx, context.random, {
    at: Math.max(now, request.createdAt),
    projectId,
    kind: "vote.withdrawn",
    actor: `reviewer:${reviewerId}`,
    subject: `request:${id}`,
  });
  tx.onCommit(() => context.wake.signal({ kind: "voted", projectId, requestId: id }));
  return { withdrawn: true, ended: undefined };
}
