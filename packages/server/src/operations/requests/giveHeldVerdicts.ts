import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { isLive } from "../../core/session.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { lockCredential } from "../../storage/sql/access/credentials.ts";
import { readReviewer } from "../../storage/sql/access/holders.ts";
import {
  deleteHeld,
  findHeld,
  type HeldKey,
  type HeldVerdict,
  readDueHeld,
  readNextHeld,
} from "../../storage/sql/requests/held-verdicts.ts";
import { listSessions } from "../../storage/sql/sign-in/sessions.ts";
import type { Transaction } from "../../storage/store.ts";
import { isLetIn, toReviewerCaller } from "../access/authenticateCaller.ts";
import { decideLocked, inTime, type VerdictOutcome } from "./castVerdict.ts";
import { lockReadable } from "./expireRequests.ts";
import { enter } from "./holdVerdict.ts";

/** Bounds one round; the worker comes again at once while there is more. */
const VERDICTS_PER_CALL_MAX = 50;

/**
 * Gives the verdicts whose time of being held is over, as if they were sent now: what would be
 * refused now lapses. The lock of the request sees to it that one process gives each, once.
 *
 * Called by: the holding worker.
 */
export async function giveHeldVerdicts(
  context: Context,
): Promise<{ readonly done: number; readonly more: boolean }> {
  const due = await readDueHeld(context.store, context.clock.now(), VERDICTS_PER_CALL_MAX);
  let done = 0;
  for (const key of due) if (await give(context, key)) done++;
  return { done, more: due.length === VERDICTS_PER_CALL_MAX && done > 0 };
}

/** When the next one is to be given, epoch ms. */
export function nextHeld({ store }: Context): Promise<number | undefined> {
  return readNextHeld(store);
}

/** @returns whether it is not held any more */
async function give(context: Context, key: HeldKey): Promise<boolean> {
  try {
    const outcome = await inTime(context, (tx) => giveLocked(tx, context, key));
    if (outcome !== undefined) signal(context, key, outcome);
    return outcome !== undefined;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    await context.store.transact((tx) => lapse(tx, context, key, error));
    context.wake.signal({ kind: "held", ...key, commitsAt: undefined });
    return true;
  }
}

/**
 * @returns what became of it; undefined when it was given or taken back meanwhile
 * @throws Problem when it is refused: then nothing of this may be committed
 */
async function giveLocked(
  tx: Transaction,
  context: Context,
  key: HeldKey,
): Promise<VerdictOutcome | undefined> {
  const request = await lockReadable(tx, { projectId: key.projectId, id: key.requestId });
  const held = await findHeld(tx, key);
  const now = await tx.now();
  if (held === undefined || held.commitsAt > now) return undefined;
  if (request === undefined) throw new Problem("not_found");
  const caller = await callerOf(tx, held, now);
  await deleteHeld(tx, held);
  const outcome = await decideLocked(tx, context, caller, held.requestId, {
    verdict: held.verdict,
    argumentsSha256: held.argumentsSha256,
    note: textOf(held.note),
    validityMs: held.validityMs ?? undefined,
    confirmation: textOf(held.confirmation),
  });
  if (outcome.problem !== undefined) throw outcome.problem;
  const { resolution } = outcome;
  const isGiven = outcome.isAnswer && resolution?.kind !== "already_terminal";
  if (isGiven) await enter(tx, context, held, "verdict.cast", now, { held_at: held.heldAt });
  else {
    const status = resolution === undefined ? null : resolution.decision.status;
    const detail = { held_at: held.heldAt, reason: "already_terminal", status };
    await enter(tx, context, held, "verdict.lapsed", now, detail);
  }
  return outcome;
}

/** Once it was refused: it is held no more, and says why. */
async function lapse(
  tx: Transaction,
  context: Context,
  key: HeldKey,
  { code: reason, message }: Problem,
): Promise<void> {
  await lockReadable(tx, { projectId: key.projectId, id: key.requestId });
  const held = await findHeld(tx, key);
  const now = await tx.now();
  // Another one may have taken its place.
  if (held === undefined || held.commitsAt > now || !(await deleteHeld(tx, held))) return;
  await enter(tx, context, held, "verdict.lapsed", now, { held_at: held.heldAt, reason, message });
}

function signal({ wake }: Context, key: HeldKey, { resolution }: VerdictOutcome): void {
  if (resolution === undefined) wake.signal({ kind: "voted", ...key });
  else if (resolution.kind === "resolved") wake.signal(resolution.signal);
}

/**
 * Whose verdict it is, through the token or session that it came with, as they are now.
 *
 * @throws Problem `invalid_credential` when it could not be sent any more
 */
async function callerOf(tx: Transaction, held: HeldVerdict, now: number): Promise<ReviewerCaller> {
  const { projectId, reviewerId, credentialId } = held;
  const reviewer = await readReviewer(tx, { projectId, id: reviewerId });
  if (reviewer === undefined || !(await isLetIn(tx, reviewer))) throw gone();
  const through = { credentialId, projectId, scopes: null, session: null };
  if (held.isSession) {
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
