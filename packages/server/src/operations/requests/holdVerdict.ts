import { Problem } from "@countersign/protocol";
import { type AuditKind, appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { reviewerActor } from "../../core/actor.ts";
import { sha256Hex } from "../../core/digest.ts";
import { commitsAt } from "../../core/held-verdict.ts";
import type { JsonText, StoredRequest } from "../../core/request.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { needsPasskey } from "../../policy/decider.ts";
import { readJudgement, requirementOf } from "../../policy/judgement.ts";
import {
  deleteHeld,
  findHeld,
  type HeldVerdict,
  writeHeld,
} from "../../storage/sql/requests/held-verdicts.ts";
import { readVotes } from "../../storage/sql/requests/votes.ts";
import type { Transaction } from "../../storage/store.ts";
import { type Verdict, verdictNote } from "./verdictNote.ts";

/**
 * Keeps a verdict that is to be held, once everything else about it was found right. The same one
 * again is the one that is held already, for as long as that; another one takes its place.
 *
 * @param request locked by this transaction, and pending
 * @param now read behind that lock
 * @returns undefined when it is not to be held, or when there is no time left for that
 * @throws Problem `invalid_request` where a passkey has to sign
 */
export async function holdVerdict(
  tx: Transaction,
  context: Pick<Context, "random">,
  caller: ReviewerCaller,
  request: StoredRequest,
  verdict: Verdict,
  now: number,
): Promise<HeldVerdict | undefined> {
  if (verdict.holdMs === undefined) return undefined;
  if (verdict.verdict === "approve" && needsPasskey(requirementOf(readJudgement(request.policy)))) {
    const message = "hold does not belong to an approval that a passkey has to sign.";
    throw new Problem("invalid_request", message, { param: "hold" });
  }
  const at = commitsAt(now, verdict.holdMs, request.deadlineAt);
  if (at === undefined) return undefined;
  const { projectId, id: requestId } = request;
  const { reviewerId, credentialId } = caller;
  const earlier = await findHeld(tx, { projectId, requestId, reviewerId });
  const held: HeldVerdict = {
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
    heldAt: now,
    commitsAt: at,
  };
  if (earlier !== undefined && isSame(earlier, held)) return earlier;
  await writeHeld(tx, held);
  const { validityMs, note } = held;
  await enter(tx, context, held, "verdict.held", now, {
    arguments_sha256: held.argumentsSha256,
    validity_ms: validityMs,
    note_sha256: note === null ? null : sha256Hex(note),
    commits_at: at,
    ...(earlier !== undefined && { in_place_of: earlier.verdict }),
  });
  return held;
}

/** Ends what the same reviewer held when they gave a verdict that is not held. */
export async function endHold(
  tx: Transaction,
  context: Pick<Context, "random">,
  held: HeldVerdict,
): Promise<void> {
  if (!(await deleteHeld(tx, held))) return;
  await enter(tx, context, held, "verdict.taken_back", await tx.now(), { by: "another verdict" });
}

/** Whether an approval that is to be held was kept as a vote before: its answer was lost. */
export async function hasVoted(
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

/** Writes into the audit log what became of a verdict that is held. */
export async function enter(
  tx: Transaction,
  { random }: Pick<Context, "random">,
  { projectId, requestId, reviewerId, verdict, heldAt }: HeldVerdict,
  kind: AuditKind,
  now: number,
  detail: Readonly<Record<string, string | number | null>> = {},
): Promise<void> {
  await appendAudit(tx, random, {
    at: Math.max(now, heldAt),
    projectId,
    kind,
    actor: reviewerActor(reviewerId),
    subject: `request:${requestId}`,
    detail: { verdict, ...detail },
  });
}

function isSame(one: HeldVerdict, other: HeldVerdict): boolean {
  return (
    one.verdict === other.verdict &&
    one.note === other.note &&
    one.validityMs === other.validityMs &&
    one.confirmation === other.confirmation
  );
}

/** With nothing in it that not every database stores. */
function textOf(text: string | undefined): JsonText | null {
  return text === undefined ? null : JSON.stringify(text);
}
