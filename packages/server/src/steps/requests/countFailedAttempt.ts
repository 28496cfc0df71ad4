/** Counts failed confirmations, and rejects a reviewer without attempts left. */

import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { StoredRequest } from "../../core/request.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import {
  confirmationFault,
  FAILED_ATTEMPTS_MAX,
  failedAttemptsRefusal,
} from "../../policy/decider.ts";
import { readJudgement, requirementOf } from "../../policy/judgement.ts";
import {
  readFailedConfirmations,
  writeFailedConfirmations,
} from "../../storage/sql/requests/failed-confirmations.ts";
import type { Transaction } from "../../storage/store.ts";

/** Why this reviewer has no attempts left; undefined otherwise. */
export async function attemptsRefusal(
  tx: Transaction,
  caller: ReviewerCaller,
  request: StoredRequest,
): Promise<string | undefined> {
  return failedAttemptsRefusal(await readFailedAttempts(tx, caller, request));
}

/**
 * Counts a failed confirmation in the transaction that has locked the request, so concurrent
 * confirmations get no additional attempts.
 *
 * @returns the problem of a failed attempt, to throw after the commit; undefined without one
 */
export async function countFailedAttempt(
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
  const attempts = (await readFailedAttempts(tx, caller, request)) + 1;
  const failedAt = Math.max(now, request.createdAt);
  await writeFailedConfirmations(tx, { projectId, requestId, reviewerId, attempts, failedAt });
  await appendAudit(tx, random, {
    at: failedAt,
    projectId,
    kind: "confirmation.missed",
    actor: `reviewer:${reviewerId}`,
    subject: `request:${requestId}`,
    detail: { misses: attempts },
  });
  const refusal = failedAttemptsRefusal(attempts);
  if (refusal !== undefined) return new Problem("forbidden", refusal);
  const left = FAILED_ATTEMPTS_MAX - attempts;
  const tries = left === 1 ? "one try is" : `${left} tries are`;
  const message = `confirmation ${fault}; ${tries} left.`;
  return new Problem("invalid_request", message, { param: "confirmation" });
}

async function readFailedAttempts(
  tx: Transaction,
  { reviewerId }: ReviewerCaller,
  { projectId, id, policy }: StoredRequest,
): Promise<number> {
  if (requirementOf(readJudgement(policy)).confirm.kind !== "match") return 0;
  const attempts = await readFailedConfirmations(tx, projectId, [id]);
  return attempts.find((one) => one.reviewerId === reviewerId)?.attempts ?? 0;
}
