import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { StoredRequest } from "../../core/request.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { confirmationFault, MISSES_MAX, missedBar } from "../../policy/decider.ts";
import { readJudgement, requirementOf } from "../../policy/judgement.ts";
import { readMisses, writeMisses } from "../../storage/sql/requests/confirmation-misses.ts";
import type { Transaction } from "../../storage/store.ts";

/** Why this reviewer cannot approve what they missed too often; undefined when they can. */
export async function missesBar(
  tx: Transaction,
  caller: ReviewerCaller,
  request: StoredRequest,
): Promise<string | undefined> {
  return missedBar(await missesOf(tx, caller, request));
}

/**
 * Counts a confirmation that does not match, in the transaction that has locked the request: who
 * sends many at once has no more tries than who sends them one after another.
 *
 * @returns what to answer once it is counted; undefined when nothing was missed
 */
export async function countMisses(
  tx: Transaction,
  { random }: Pick<Context, "random">,
  caller: ReviewerCaller,
  request: StoredRequest,
  { confirmation }: { readonly confirmation: string | undefined },
  now: number,
): Promise<Problem | undefined> {
  const { confirm } = requirementOf(readJudgement(request.policy));
  if (confirm.kind !== "match" || confirmation === undefined) return undefined;
  const { projectId, id: requestId } = request;
  const fault = confirmationFault(confirm, requestId, confirmation);
  if (fault === undefined) return undefined;
  const { reviewerId } = caller;
  const misses = (await missesOf(tx, caller, request)) + 1;
  const missedAt = Math.max(now, request.createdAt);
  await writeMisses(tx, { projectId, requestId, reviewerId, misses, missedAt });
  await appendAudit(tx, random, {
    at: missedAt,
    projectId,
    kind: "confirmation.missed",
    actor: `reviewer:${reviewerId}`,
    subject: `request:${requestId}`,
    detail: { misses },
  });
  const bar = missedBar(misses);
  if (bar !== undefined) return new Problem("forbidden", bar);
  const left = MISSES_MAX - misses;
  const tries = left === 1 ? "one try is" : `${left} tries are`;
  const message = `confirmation ${fault}; ${tries} left.`;
  return new Problem("invalid_request", message, { param: "confirmation" });
}

async function missesOf(
  tx: Transaction,
  { reviewerId }: ReviewerCaller,
  { projectId, id, policy }: StoredRequest,
): Promise<number> {
  if (requirementOf(readJudgement(policy)).confirm.kind !== "match") return 0;
  const misses = await readMisses(tx, projectId, [id]);
  return misses.find((one) => one.reviewerId === reviewerId)?.misses ?? 0;
}
