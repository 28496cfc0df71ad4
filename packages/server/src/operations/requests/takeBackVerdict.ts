import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { votingGroups } from "../../core/scopes.ts";
import { refusalOf } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { revokeGrantsOfTurn } from "../../steps/grants/revokeGrantsOfTurn.ts";
import { appendVerdictAudit } from "../../steps/requests/delayVerdict.ts";
import {
  deleteDelayedVerdict,
  findDelayedVerdict,
} from "../../storage/sql/requests/delayed-verdicts.ts";
import { lockRequest } from "../../storage/sql/requests/requests.ts";

/**
 * Withdraws the caller's delayed verdict unless it was already applied, and revokes the grants that
 * the caller created after it for the rest of the response. Can be repeated: without a delayed
 * verdict it does nothing. Requires no role.
 *
 * @returns whether there was one
 * @throws Problem `forbidden` for a token that cannot decide, or one that is limited to groups and
 * did not send the verdict; `not_found`; `already_terminal` when the request was resolved
 */
export async function takeBackVerdict(
  context: Context,
  caller: ReviewerCaller,
  requestId: string,
): Promise<boolean> {
  const forGroups = votingGroups(caller.scopes);
  if (forGroups?.length === 0) {
    throw new Problem("forbidden", refusalOf(caller, "decide"));
  }
  const { projectId, reviewerId } = caller;
  return context.store.transact(async (tx) => {
    const request = await lockRequest(tx, { projectId, id: requestId });
    if (request === undefined) throw new Problem("not_found");
    if (request.decision !== null) {
      throw new Problem("already_terminal", `The request is already ${request.status}.`);
    }
    const delayed = await findDelayedVerdict(tx, { projectId, requestId, reviewerId });
    if (delayed === undefined) return false;
    // Such a token could not have sent a verdict of another token.
    if (forGroups !== null && delayed.credentialId !== caller.credentialId) {
      throw new Problem("forbidden", "The scopes of this token do not cover this verdict.");
    }
    if (!(await deleteDelayedVerdict(tx, delayed))) return false;
    await appendVerdictAudit(tx, context, delayed, "verdict.taken_back", await tx.now());
    await revokeGrantsOfTurn(tx, context, request, reviewerId, delayed.receivedAt);
    const key = { projectId, requestId, reviewerId };
    const signal = { kind: "delayed", ...key, commitsAt: undefined } as const;
    tx.onCommit(() => context.wake.signal(signal));
    return true;
  });
}
