/** Applies delayed verdicts when they are due. */

import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { isLive } from "../../core/session.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { mayAuthenticate, toReviewerCaller } from "../../steps/access/mayAuthenticate.ts";
import { decideLocked, retryPastDeadline } from "../../steps/requests/decideLocked.ts";
import { appendVerdictAudit } from "../../steps/requests/delayVerdict.ts";
import { lockUnlessDamaged } from "../../steps/requests/lockUnlessDamaged.ts";
import { lockCredential } from "../../storage/sql/access/credentials.ts";
import { readReviewer } from "../../storage/sql/access/holders.ts";
import {
  type DelayedVerdict,
  type DelayedVerdictKey,
  deleteDelayedVerdict,
  findDelayedVerdict,
  readDueDelayedVerdicts,
  readNextDelayedVerdict,
} from "../../storage/sql/requests/delayed-verdicts.ts";
import { listSessions } from "../../storage/sql/sign-in/sessions.ts";
import type { Transaction } from "../../storage/store.ts";

/** Limits one round; the worker starts the next one at once while more verdicts are due. */
const VERDICTS_PER_CALL_MAX = 50;

/**
 * Applies due delayed verdicts as if they were sent now. A verdict that would be rejected now
 * lapses. The lock of the request ensures that one process applies each verdict, once.
 */
export async function applyDelayedVerdicts(
  context: Context,
): Promise<{ readonly done: number; readonly more: boolean }> {
  const due = await readDueDelayedVerdicts(
    context.store,
    context.clock.now(),
    VERDICTS_PER_CALL_MAX,
  );
  let done = 0;
  for (const key of due) if (await apply(context, key)) done++;
  return { done, more: due.length === VERDICTS_PER_CALL_MAX && done > 0 };
}

/** When the next delayed verdict is due, epoch ms. */
export function nextDelayedVerdict({ store }: Context): Promise<number | undefined> {
  return readNextDelayedVerdict(store);
}

/** @returns true when the delayed verdict no longer exists */
async function apply(context: Context, key: DelayedVerdictKey): Promise<boolean> {
  try {
    return await retryPastDeadline(context, (tx) => applyLocked(tx, context, key));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    await context.store.transact((tx) => lapse(tx, context, key, error));
    return true;
  }
}

/**
 * @returns false when the verdict was applied or withdrawn meanwhile
 * @throws Problem when the verdict is rejected; the transaction must not commit then
 */
async function applyLocked(
  tx: Transaction,
  context: Context,
  key: DelayedVerdictKey,
): Promise<boolean> {
  const request = await lockUnlessDamaged(tx, { projectId: key.projectId, id: key.requestId });
  const delayed = await findDelayedVerdict(tx, key);
  const now = await tx.now();
  if (delayed === undefined || delayed.commitsAt > now) return false;
  if (request === undefined) throw new Problem("not_found");
  const caller = await callerOf(tx, delayed, now);
  await deleteDelayedVerdict(tx, delayed);
  const outcome = await decideLocked(tx, context, caller, delayed.requestId, {
    verdict: delayed.verdict,
    argumentsSha256: delayed.argumentsSha256,
    note: textOf(delayed.note),
    validityMs: delayed.validityMs ?? undefined,
    confirmation: textOf(delayed.confirmation),
  });
  if (outcome.problem !== undefined) throw outcome.problem;
  const { resolution } = outcome;
  const isApplied = outcome.isAnswer && resolution?.kind !== "already_terminal";
  if (isApplied) {
    const detail = { held_at: delayed.receivedAt };
    await appendVerdictAudit(tx, context, delayed, "verdict.cast", now, detail);
  } else {
    const status = resolution === undefined ? null : resolution.decision.status;
    const detail = { held_at: delayed.receivedAt, reason: "already_terminal", status };
    await appendVerdictAudit(tx, context, delayed, "verdict.lapsed", now, detail);
  }
  return true;
}

/** Deletes a rejected verdict; the audit entry has the reason. */
async function lapse(
  tx: Transaction,
  context: Context,
  key: DelayedVerdictKey,
  { code: reason, message }: Problem,
): Promise<void> {
  await lockUnlessDamaged(tx, { projectId: key.projectId, id: key.requestId });
  const delayed = await findDelayedVerdict(tx, key);
  const now = await tx.now();
  // Another verdict may have replaced it.
  if (
    delayed === undefined ||
    delayed.commitsAt > now ||
    !(await deleteDelayedVerdict(tx, delayed))
  )
    return;
  const detail = { held_at: delayed.receivedAt, reason, message };
  await appendVerdictAudit(tx, context, delayed, "verdict.lapsed", now, detail);
  tx.onCommit(() => context.wake.signal({ kind: "delayed", ...key, commitsAt: undefined }));
}

/**
 * The current reviewer, for the token or session of the verdict.
 *
 * @throws Problem `invalid_credential` when that token or session is no longer valid
 */
async function callerOf(
  tx: Transaction,
  delayed: DelayedVerdict,
  now: number,
): Promise<ReviewerCaller> {
  const { projectId, reviewerId, credentialId } = delayed;
  const reviewer = await readReviewer(tx, { projectId, id: reviewerId });
  if (reviewer === undefined || !(await mayAuthenticate(tx, reviewer))) throw gone();
  const through = { credentialId, projectId, scopes: null, session: null };
  if (delayed.isSession) {
    const { personId } = reviewer;
    const sessions = personId === null ? [] : await listSessions(tx, personId);
    const session = sessions.find(({ id }) => id === credentialId);
    if (session === undefined || !isLive(session, now)) throw gone();
    return toReviewerCaller(reviewer, { ...through, session });
  }
  const token = await lockCredential(tx, "share", credentialId);
  if (token === undefined || token.revokedAt !== null) throw gone();
  if (token.expiresAt !== null && token.expiresAt <= now) throw gone();
  return toReviewerCaller(reviewer, { ...through, scopes: token.scopes });
}

function gone(): Problem {
  return new Problem("invalid_credential");
}

function textOf(json: string | null): string | undefined {
  return json === null ? undefined : String(JSON.parse(json));
}
