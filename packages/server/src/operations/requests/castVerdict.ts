import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { StoredRequest } from "../../core/request.ts";
import { assertMayVote } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { validityProblem } from "../../steps/requests/checkVerdict.ts";
import { decideLocked, retryPastDeadline } from "../../steps/requests/decideLocked.ts";
import { cancelDelayedVerdict } from "../../steps/requests/delayVerdict.ts";
import { subjectOf } from "../../steps/requests/resolveRequest.ts";
import type { Verdict } from "../../steps/requests/verdictNote.ts";
import { findDelayedVerdict } from "../../storage/sql/requests/delayed-verdicts.ts";
import type { Transaction } from "../../storage/store.ts";

export type { Verdict };

/**
 * Resolves a pending request by a reviewer's verdict, or stores an approval as a vote when more are
 * required; the request then stays pending. One denial is sufficient. Repeating a verdict is
 * harmless: a reviewer who lost the response receives it again. A delayed verdict is stored when it
 * passes all checks; a verdict without delay cancels the reviewer's delayed one.
 *
 * @throws Problem `forbidden` when the role or the requirement excludes the reviewer, `not_found`
 * outside the reviewer's project, `arguments_mismatch` when the displayed arguments differ from the
 * stored ones, `already_terminal` after another decision, `invalid_request` when the validity is
 * out of bounds or an approval lacks its note or confirmation, `passkey_refused` when no passkey
 * signed this verdict or its signature was already used
 */
export async function castVerdict(
  context: Context,
  caller: ReviewerCaller,
  id: string,
  verdict: Verdict,
): Promise<StoredRequest> {
  assertMayVote(caller);
  const invalid = validityProblem(context.settings, verdict, undefined);
  if (invalid !== undefined) throw invalid;
  const key = { projectId: caller.projectId, requestId: id };
  const decide = async (tx: Transaction) => {
    const [outcome, earlier] = await Promise.all([
      decideLocked(tx, context, caller, id, verdict),
      // After the lock of the request, like all writes of delayed verdicts.
      findDelayedVerdict(tx, { ...key, reviewerId: caller.reviewerId }),
    ]);
    const isNew = outcome.isAnswer && outcome.resolution?.kind !== "already_terminal";
    if (isNew && outcome.delayed === undefined && earlier !== undefined) {
      await cancelDelayedVerdict(tx, context, earlier);
    }
    return outcome;
  };
  // A signature writes rows beyond the request: its challenge and its passkey.
  const subject = verdict.signature === undefined ? subjectOf(key) : undefined;
  const { request, resolution, isAnswer, problem } = await retryPastDeadline(
    context,
    decide,
    subject,
  );
  if (problem !== undefined) throw problem;
  if (resolution === undefined) return request;
  const { decision } = resolution;
  if (!isAnswer) {
    const message = `The request is already ${decision.status}.`;
    throw new Problem("already_terminal", message);
  }
  return { ...request, status: decision.status, decision };
}
