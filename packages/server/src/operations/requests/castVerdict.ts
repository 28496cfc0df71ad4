import { Problem } from "@countersign/protocol";
import type { Settings } from "../../config/settings.ts";
import type { Context } from "../../context.ts";
import { reviewerActor } from "../../core/actor.ts";
import { sha256Hex } from "../../core/digest.ts";
import { endingOf, type FreezeRef } from "../../core/freeze.ts";
import {
  isClosed,
  type ResolvableRequest,
  type StoredDecision,
  type StoredRequest,
} from "../../core/request.ts";
import { decidesFor } from "../../core/scopes.ts";
import { assertMayVote, deciderOf } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import {
  approvalBar,
  confirmationFault,
  denialBar,
  isBlank,
  needsPasskey,
  passkeyBar,
  takesVotes,
} from "../../policy/decider.ts";
import { type Judgement, readJudgement, requirementOf } from "../../policy/judgement.ts";
import { findFreezeOfRequest } from "../../storage/sql/freezes/standing-freezes.ts";
import { readInstances } from "../../storage/sql/instances/instances.ts";
import { findHeld, type HeldVerdict } from "../../storage/sql/requests/held-verdicts.ts";
import { lockResolvable } from "../../storage/sql/requests/requests.ts";
import { readVotes, type StoredVote } from "../../storage/sql/requests/votes.ts";
import type { Transaction } from "../../storage/store.ts";
import { currentCaller } from "../access/currentCaller.ts";
import { countMisses, missesBar } from "./countMisses.ts";
import { endHold, hasVoted, holdVerdict } from "./holdVerdict.ts";
import { recordVote } from "./recordVote.ts";
import { DeadlinePassed, type Ended, resolveRequest, subjectOf } from "./resolveRequest.ts";
import { toSigner } from "./reviewRequests.ts";
import { type Verdict, verdictNote } from "./verdictNote.ts";
import { useSignature } from "./verifySignature.ts";

/**
 * Ends a pending request by a reviewer's verdict, or keeps an approval as a vote where more of
 * them are needed: the request is then answered as pending. One denial is enough. Sending the
 * same verdict again is harmless: whoever lost the answer gets it again. One that is to be held is
 * kept instead, when nothing else stands against it; one that is not ends what the same reviewer
 * holds.
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
  assertWithin(verdict, bounds(context.settings, undefined));
  const key = { projectId: caller.projectId, requestId: id };
  const decide = async (tx: Transaction) => {
    const [outcome, earlier] = await Promise.all([
      decideLocked(tx, context, caller, id, verdict),
      // Behind its lock of the request, as whoever writes what is held.
      findHeld(tx, { ...key, reviewerId: caller.reviewerId }),
    ]);
    const isNew = outcome.isAnswer && outcome.resolution?.kind !== "already_terminal";
    if (isNew && outcome.held === undefined && earlier !== undefined) {
      await endHold(tx, context, earlier);
    }
    return outcome;
  };
  // A signature uses up its challenge and counts on its passkey, which is no matter of the request.
  const subject = verdict.signature === undefined ? subjectOf(key) : undefined;
  const { request, resolution, isAnswer, held, problem } = await inTime(context, decide, subject);
  if (problem !== undefined) throw problem;
  if (held !== undefined) {
    context.wake.signal({ kind: "held", ...key, commitsAt: held.commitsAt });
    return request;
  }
  if (resolution === undefined) {
    context.wake.signal({ kind: "voted", ...key });
    return request;
  }
  const { decision } = resolution;
  if (resolution.kind === "resolved") context.wake.signal(resolution.signal);
  if (!isAnswer) {
    const message = `The request is already ${decision.status}.`;
    throw new Problem("already_terminal", message);
  }
  return { ...request, status: decision.status, decision };
}

/**
 * Runs what decides a request; once more when the deadline passed while it was written.
 *
 * @param subject of what may stand beside others
 */
export function inTime<T>(
  { store }: Pick<Context, "store">,
  decide: (tx: Transaction) => Promise<T>,
  subject?: string,
): Promise<T> {
  const first =
    subject === undefined ? store.transact(decide) : store.transactBeside(subject, decide);
  return first.catch((error: unknown) => {
    if (!(error instanceof DeadlinePassed)) throw error;
    // By now it is too late from the beginning, and expires.
    return store.transact(decide);
  });
}

export interface VerdictOutcome {
  readonly request: StoredRequest;
  /** Undefined when a vote was kept, or the verdict is held, and the request goes on pending. */
  readonly resolution: Exclude<Ended, { kind: "not_due" }> | undefined;
  /** Whether what now stands is this very verdict, recorded now or by an earlier try. */
  readonly isAnswer: boolean;
  readonly held?: HeldVerdict;
  /** To be thrown after the commit: what was counted stays counted. */
  readonly problem?: Problem;
}

/**
 * The transaction of {@link castVerdict}.
 *
 * @throws as it does, but for what is in the outcome
 */
export async function decideLocked(
  tx: Transaction,
  context: Context,
  caller: ReviewerCaller,
  id: string,
  verdict: Verdict,
): Promise<VerdictOutcome> {
  const key = { projectId: caller.projectId, id };
  // Sent at once and answered one after another: whoever freezes waits for the lock, so that no
  // approval is recorded after the freeze has been answered.
  const [request, now, freeze, [current]] = await Promise.all([
    lockResolvable(tx, key),
    tx.now(),
    verdict.verdict === "approve" ? findFreezeOfRequest(tx, key) : undefined,
    Promise.allSettled([currentCaller(tx, caller)]),
  ]);
  if (request === undefined) throw new Problem("not_found");
  if (sha256Hex(request.arguments) !== verdict.argumentsSha256) {
    throw new Problem("arguments_mismatch", undefined, { param: "arguments_sha256" });
  }
  if (request.decision !== null) {
    const { decision } = request;
    const isAnswer = await stands(tx, caller, request, decision, verdict);
    return { request, resolution: { kind: "already_terminal", decision }, isAnswer };
  }
  // Before anything else that may be wrong: nothing can be decided any more.
  if (isClosed(request, now)) {
    return resolved(
      request,
      await resolveRequest(tx, context, request, { status: "expired" }, { now }),
    );
  }
  if (verdict.verdict === "approve")
    return approve(tx, context, caller, request, verdict, { now, freeze, current });
  await assertMayDeny(tx, current, request);
  const held = await holdVerdict(tx, context, caller, request, verdict, now);
  if (held !== undefined) return { request, resolution: undefined, isAnswer: true, held };
  const ending = {
    status: "denied",
    by: reviewerActor(caller.reviewerId),
    note: verdictNote(verdict),
  } as const;
  return resolved(request, await resolveRequest(tx, context, request, ending, { now }), "denied");
}

async function approve(
  tx: Transaction,
  context: Context,
  caller: ReviewerCaller,
  request: ResolvableRequest,
  verdict: Verdict,
  { now, freeze, current }: { now: number; freeze: FreezeRef | undefined; current: Current },
): Promise<VerdictOutcome> {
  const judgement = readJudgement(request.policy);
  const requirement = requirementOf(judgement);
  const ownerId = requirement.excludeOwner ? await ownerOf(tx, request) : null;
  await assertMayApprove(tx, current, request, ownerId);
  if (freeze !== undefined) {
    return resolved(request, await resolveRequest(tx, context, request, endingOf(freeze), { now }));
  }
  const problem = await countMisses(tx, context, caller, request, verdict, now);
  if (problem !== undefined) return { request, resolution: undefined, isAnswer: false, problem };
  assertComplete(request, verdict);
  assertWithin(verdict, bounds(context.settings, judgement.validityMs));
  if (await hasVoted(tx, caller, request, verdict)) {
    return { request, resolution: undefined, isAnswer: true };
  }
  const held = await holdVerdict(tx, context, caller, request, verdict, now);
  if (held !== undefined) return { request, resolution: undefined, isAnswer: true, held };

  const note = verdictNote(verdict);
  const validityMs = verdict.validityMs ?? null;
  const usable = (votes: readonly Pick<StoredVote, "validityMs">[]) =>
    shortest(context.settings, judgement, votes);
  const ending = { status: "approved", by: reviewerActor(caller.reviewerId), note } as const;
  const { signature } = verdict;
  if (!takesVotes(requirement)) {
    const passkey = signature && (await useSignature(tx, caller, request.id, signature, now));
    const ended = { ...ending, validityMs: usable([{ validityMs }]) };
    const options = passkey === undefined ? { now } : { now, detail: { passkey } };
    return resolved(
      request,
      await resolveRequest(tx, context, request, ended, options),
      "approved",
    );
  }
  if (signature?.kind === "refused") throw signature.problem;
  const { projectId, id: requestId } = request;
  const votedAt = Math.max(now, request.createdAt);
  const { reviewerId, scopes } = caller;
  const forGroups = decidesFor(scopes);
  const proof = signature === undefined ? null : JSON.stringify(signature.proof);
  const said = { note, validityMs, forGroups, votedAt, proof };
  const vote = { projectId, requestId, reviewerId, ...said };
  const use = () => signature && useSignature(tx, caller, requestId, signature, now);
  const tally = await recordVote(tx, context, request, { requirement, ownerId }, vote, use);
  if (!tally.isEnough) return { request, resolution: undefined, isAnswer: true };
  const voters = tally.counted.map(({ reviewerId }) => reviewerId);
  const wished = { ...ending, validityMs: usable(tally.counted) };
  const ended = await resolveRequest(tx, context, request, wished, { detail: { voters } });
  const outcome = resolved(request, ended, "approved");
  // The deadline passed while the vote was written: it came too late, and is not kept.
  if (!outcome.isAnswer) throw new DeadlinePassed();
  return outcome;
}

/** @param wished what makes it the answer to this verdict; without it nothing does */
function resolved(
  request: StoredRequest,
  resolution: Ended,
  wished?: StoredDecision["status"],
): VerdictOutcome {
  if (resolution.kind === "not_due") throw new Error("a verdict cannot be early");
  return { request, resolution, isAnswer: resolution.decision.status === wished };
}

/** How long an approval may be used, in ms: no longer than any of the votes or the rule says. */
function shortest(
  { validityMsDefault }: Settings,
  { validityMs }: Judgement,
  votes: readonly Pick<StoredVote, "validityMs">[],
): number {
  const wished = votes.map((vote) => vote.validityMs ?? validityMsDefault);
  return Math.min(...wished, validityMs ?? Number.POSITIVE_INFINITY);
}

/** Whether the decision is what this verdict said, or an approval that it was a vote for. */
async function stands(
  tx: Transaction,
  caller: ReviewerCaller,
  { projectId, id }: StoredRequest,
  { status, decidedBy, note }: StoredDecision,
  verdict: Verdict,
): Promise<boolean> {
  if (status !== (verdict.verdict === "approve" ? "approved" : "denied")) return false;
  if (decidedBy === reviewerActor(caller.reviewerId)) return note === verdictNote(verdict);
  const votes = status === "approved" ? await readVotes(tx, projectId, [id]) : [];
  const own = votes.find(({ reviewerId }) => reviewerId === caller.reviewerId);
  return own !== undefined && own.note === verdictNote(verdict);
}

async function assertMayApprove(
  tx: Transaction,
  current: Current,
  request: StoredRequest,
  ownerId: string | null,
): Promise<void> {
  const requirement = requirementOf(readJudgement(request.policy));
  const decider = assertStanding(current);
  const { instanceId } = request;
  const bar =
    approvalBar(requirement, deciderOf(decider), { ownerId, instanceId }) ??
    (needsPasskey(requirement) ? passkeyBar(await toSigner(tx, decider)) : undefined) ??
    (await missesBar(tx, decider, request));
  if (bar !== undefined) throw new Problem("forbidden", bar);
}

async function assertMayDeny(
  tx: Transaction,
  current: Current,
  request: StoredRequest,
): Promise<void> {
  const decider = deciderOf(assertStanding(current));
  const requirement = requirementOf(readJudgement(request.policy));
  // Everybody who may decide, but for those who may for some groups alone.
  if (requirement.from.length === 0 && decider.forGroups === null) return;
  const ownerId = await ownerOf(tx, request);
  const bar = denialBar(requirement, decider, { ownerId });
  if (bar !== undefined) throw new Problem("forbidden", bar);
}

/** @throws Problem `invalid_request` when an approval lacks what must come with it */
function assertComplete(
  { id, policy }: StoredRequest,
  { note, confirmation, signature }: Pick<Verdict, "note" | "confirmation" | "signature">,
): void {
  const requirement = requirementOf(readJudgement(policy));
  const { noteRequired, confirm } = requirement;
  if (noteRequired && isBlank(note)) {
    const message = "note is required to approve this call, and must say something.";
    throw new Problem("invalid_request", message, { param: "note" });
  }
  const fault = confirmationFault(confirm, id, confirmation);
  if (fault !== undefined) {
    const param = "confirmation";
    throw new Problem("invalid_request", `${param} ${fault}.`, { param });
  }
  if (needsPasskey(requirement) && signature === undefined) {
    const message = "passkey is required to approve this call: ask for its challenge.";
    throw new Problem("invalid_request", message, { param: "passkey" });
  }
}

/**
 * Body and lock may have taken their time: the reviewer as this transaction finds them, or why
 * there is none any more, which matters only where something is still to be decided.
 */
type Current = PromiseSettledResult<ReviewerCaller>;

/** @throws Problem `invalid_credential`, or `forbidden` when they may not vote any more */
function assertStanding(current: Current): ReviewerCaller {
  if (current.status === "rejected") throw current.reason;
  assertMayVote(current.value);
  return current.value;
}

async function ownerOf(tx: Transaction, request: StoredRequest): Promise<string | null> {
  const { projectId, instanceId } = request;
  return (await readInstances(tx, projectId, [instanceId])).get(instanceId)?.ownerId ?? null;
}

interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** Of the validity that a reviewer may wish, in ms; the rule may only shorten it. */
function bounds(settings: Settings, ofRule: number | undefined): Bounds {
  const max = Math.min(settings.validityMsMax, ofRule ?? Number.POSITIVE_INFINITY);
  return { min: Math.min(settings.validityMsMin, max), max };
}

function assertWithin({ verdict, validityMs }: Verdict, { min, max }: Bounds): void {
  if (verdict === "deny" || validityMs === undefined) return;
  if (validityMs >= min && validityMs <= max) return;
  const message = `valid_for must be between ${min / 1000}s and ${max / 1000}s.`;
  throw new Problem("invalid_request", message, { param: "valid_for" });
}
