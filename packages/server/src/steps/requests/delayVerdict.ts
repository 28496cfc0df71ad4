/** Stores and cancels verdicts that take effect after a delay. */

import { Problem } from "@countersign/protocol";
import { type AuditEntry, type AuditKind, appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { commitsAt } from "../../core/delayed-verdict.ts";
import { sha256Hex } from "../../core/digest.ts";
import type { JsonText, StoredRequest } from "../../core/request.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { needsPasskey } from "../../policy/decider.ts";
import { readJudgement, requirementOf } from "../../policy/judgement.ts";
import {
  type DelayedVerdict,
  deleteDelayedVerdict,
  findDelayedVerdict,
  writeDelayedVerdict,
} from "../../storage/sql/requests/delayed-verdicts.ts";
import { readVotes } from "../../storage/sql/requests/votes.ts";
import type { Transaction } from "../../storage/store.ts";
import { type Verdict, verdictNote } from "./verdictNote.ts";

/**
 * Stores a verdict that has a delay, after all other checks. Repeating a verdict returns the stored
 * one with its time; another verdict replaces it.
 *
 * @param request locked by this transaction, and pending
 * @param now read after that lock
 * @returns undefined for a verdict without a delay, or when no time is left for one
 * @throws Problem `invalid_request` when a passkey signature is required
 */
export async function delayVerdict(
  tx: Transaction,
  context: Pick<Context, "random" | "wake">,
  caller: ReviewerCaller,
  request: StoredRequest,
  verdict: Verdict,
  now: number,
): Promise<DelayedVerdict | undefined> {
  if (verdict.holdMs === undefined) return undefined;
  if (verdict.verdict === "approve" && needsPasskey(requirementOf(readJudgement(request.policy)))) {
    const message = "hold is not possible for an approval that requires a passkey.";
    throw new Problem("invalid_request", message, { param: "hold" });
  }
  const at = commitsAt(now, verdict.holdMs, request.deadlineAt);
  if (at === undefined) return undefined;
  const { projectId, id: requestId } = request;
  const { reviewerId, credentialId } = caller;
  const earlier = await findDelayedVerdict(tx, { projectId, requestId, reviewerId });
  const delayed: DelayedVerdict = {
    projectId,
    requestId,
    reviewerId,
    verdict: verdict.verdict,
    argumentsSha256: verdict.argumentsSha256,
    note: verdictNote(verdict),
    validityMs: verdict.validityMs ?? null,
    confirmation: textOf(verdict.confirmation),
    credentialId,
    isSession: caller.session !== null,
    receivedAt: now,
    commitsAt: at,
  };
  if (earlier !== undefined && isSame(earlier, delayed)) return earlier;
  await writeDelayedVerdict(tx, delayed);
  const signal = { kind: "delayed", projectId, requestId, reviewerId, commitsAt: at } as const;
  tx.onCommit(() => context.wake.signal(signal));
  const { validityMs, note } = delayed;
  await appendVerdictAudit(tx, context, delayed, "verdict.held", now, {
    arguments_sha256: delayed.argumentsSha256,
    validity_ms: validityMs,
    note_sha256: note === null ? null : sha256Hex(note),
    commits_at: at,
    in_place_of: earlier?.verdict,
  });
  return delayed;
}

/** Deletes a delayed verdict after the same reviewer sent one without a delay. */
export async function cancelDelayedVerdict(
  tx: Transaction,
  context: Pick<Context, "random">,
  delayed: DelayedVerdict,
): Promise<void> {
  if (!(await deleteDelayedVerdict(tx, delayed))) return;
  const detail = { by: "another verdict" };
  await appendVerdictAudit(tx, context, delayed, "verdict.taken_back", await tx.now(), detail);
}

/** True when a delayed approval was already recorded as a vote and its response was lost. */
export async function hasRecordedVote(
  tx: Transaction,
  { reviewerId }: ReviewerCaller,
  { projectId, id }: StoredRequest,
  verdict: Verdict,
): Promise<boolean> {
  if (verdict.holdMs === undefined) return false;
  const votes = await readVotes(tx, projectId, [id]);
  const own = votes.find((vote) => vote.reviewerId === reviewerId);
  return (
    own !== undefined &&
    own.note === verdictNote(verdict) &&
    own.validityMs === (verdict.validityMs ?? null)
  );
}

/** Writes an audit entry about a delayed verdict. */
export async function appendVerdictAudit(
  tx: Transaction,
  { random }: Pick<Context, "random">,
  { projectId, requestId, reviewerId, verdict, receivedAt }: DelayedVerdict,
  kind: AuditKind,
  now: number,
  detail: AuditEntry["detail"] = {},
): Promise<void> {
  await appendAudit(tx, random, {
    at: Math.max(now, receivedAt),
    projectId,
    kind,
    actor: `reviewer:${reviewerId}`,
    subject: `request:${requestId}`,
    detail: { verdict, ...detail },
  });
}

function isSame(one: DelayedVerdict, other: DelayedVerdict): boolean {
  return (
    one.verdict === other.verdict &&
    one.note === other.note &&
    one.validityMs === other.validityMs &&
    one.confirmation === other.confirmation
  );
}

/** As JSON text, which every database can store with any characters. */
function textOf(text: string | undefined): JsonText | null {
  return text === undefined ? null : JSON.stringify(text);
}
