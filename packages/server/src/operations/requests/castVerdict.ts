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
 * Ends a pending request by a reviewer's verdict, or keeps an approval as a vote where more of
 * them are needed: the request is then answered as pending. One denial is enough. Sending the
 * same verdict again is harmless: a reviewer who lost the response gets it again. A verdict with a
 * delay is stored when it passes all checks; one without cancels the reviewer's delayed verdict.
 *
 * @throws Problem `forbidden` when the role or the request's requirement excludes the reviewer,
 *   `not_found` outside the reviewer's project, `arguments_mismatch` when something else was shown
 *   than is stored, `already_terminal` when another decision stands, `invalid_request` when the
 *   validity is out of bounds or an approval lacks its note or confirmation, `passkey_refused`
 *   when a passkey did not sign this verdict or its signature is used up
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
      // Behind the lock of the request, as all that writes delayed verdicts.
      findDelayedVerdict(tx, { ...key, reviewerId: caller.reviewerId }),
    ]);
    const isNew = outcome.isAnswer && outcome.resolution?.kind !== "already_terminal";
    if (isNew && outcome.delayed === undefined && earlier !== undefined) {
      await cancelDelayedVerdict(tx, context, earlier);
    }
    return outcome;
  };
  // A signature writes its challenge and its passkey, which do not belong to the request.
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
