/** The transaction of a verdict: locks the request, checks the verdict, and records it. */

import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { IntendedDecision, StoredRequest } from "../../core/request.ts";
import { votingGroups } from "../../core/scopes.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { collectsVotes } from "../../policy/decider.ts";
import { readJudgement, requirementOf } from "../../policy/judgement.ts";
import { findFreezeOfRequest } from "../../storage/sql/freezes/freezes.ts";
import { readInstances } from "../../storage/sql/instances/instances.ts";
import { lockForResolution } from "../../storage/sql/requests/requests.ts";
import type { StoredVote } from "../../storage/sql/requests/votes.ts";
import type { Transaction } from "../../storage/store.ts";
import { currentCaller } from "../access/currentCaller.ts";
import {
  checkVerdict,
  excludedOwner,
  toOutcome,
  type VerdictFacts,
  type VerdictOutcome,
} from "./checkVerdict.ts";
import { recordVote } from "./recordVote.ts";
import { DeadlinePassed, resolveRequest } from "./resolveRequest.ts";
import { useSignature } from "./useSignature.ts";
import { type Verdict, verdictNote } from "./verdictNote.ts";

/**
 * Runs the transaction of a verdict, and once more if the deadline passed during the first.
 *
 * @param subject of a transaction that may share a commit with others
 */
export function retryPastDeadline<T>(
  { store }: Pick<Context, "store">,
  decide: (tx: Transaction) => Promise<T>,
  subject?: string,
): Promise<T> {
  const first =
    subject === undefined ? store.transact(decide) : store.transactBatched(subject, decide);
  return first.catch((error: unknown) => {
    if (!(error instanceof DeadlinePassed)) throw error;
    // The deadline has passed, so the request expires.
    return store.transact(decide);
  });
}

/**
 * The transaction of {@link castVerdict}.
 *
 * @throws as it does, except the problem in the outcome
 */
export async function decideLocked(
  tx: Transaction,
  context: Context,
  caller: ReviewerCaller,
  id: string,
  verdict: Verdict,
): Promise<VerdictOutcome> {
  const key = { projectId: caller.projectId, id };
  // Sent together and executed in this order. A freeze waits for the lock, so no approval is
  // recorded after the freeze was answered.
  const [request, now, freeze, [current]] = await Promise.all([
    lockForResolution(tx, key),
    tx.now(),
    verdict.verdict === "approve" ? findFreezeOfRequest(tx, key) : undefined,
    Promise.allSettled([currentCaller(tx, caller)]),
  ]);
  if (request === undefined) throw new Problem("not_found");
  const judgement = readJudgement(request.policy);
  const facts: VerdictFacts = {
    tx,
    context,
    caller,
    current,
    request,
    judgement,
    requirement: requirementOf(judgement),
    verdict,
    now,
    freeze,
    ownerId: readOnce(() => readOwner(tx, request)),
  };
  const outcome = await checkVerdict(facts);
  if (outcome !== undefined) return outcome;
  if (verdict.verdict === "deny") return deny(facts);
  return collectsVotes(facts.requirement) ? vote(facts) : approve(facts);
}

async function deny(facts: VerdictFacts): Promise<VerdictOutcome> {
  const { tx, context, caller, request, verdict, now } = facts;
  const ending = {
    status: "denied",
    by: `reviewer:${caller.reviewerId}`,
    note: verdictNote(verdict),
  } as const;
  const options = { now, detail: originOf(caller) };
  return toOutcome(request, await resolveRequest(tx, context, request, ending, options), "denied");
}

async function approve(facts: VerdictFacts): Promise<VerdictOutcome> {
  const { tx, context, caller, request, verdict, now } = facts;
  const { signature, validityMs = null } = verdict;
  const passkey = signature && (await useSignature(tx, caller, request.id, signature, now));
  const ending = approvalEnding(facts, [{ validityMs }]);
  const options = { now, detail: { ...originOf(caller), passkey } };
  const ended = await resolveRequest(tx, context, request, ending, options);
  return toOutcome(request, ended, "approved");
}

/** Records an approval as a vote. The last required vote approves the request. */
async function vote(facts: VerdictFacts): Promise<VerdictOutcome> {
  const { tx, context, caller, request, requirement, verdict, now } = facts;
  const { signature, validityMs = null } = verdict;
  if (signature?.kind === "refused") throw signature.problem;
  const cast: StoredVote = {
    projectId: request.projectId,
    requestId: request.id,
    reviewerId: caller.reviewerId,
    note: verdictNote(verdict),
    validityMs,
    forGroups: votingGroups(caller.scopes),
    votedAt: Math.max(now, request.createdAt),
    proof: signature === undefined ? null : JSON.stringify(signature.proof),
  };
  const rule = { requirement, ownerId: await excludedOwner(facts) };
  const use = () => signature && useSignature(tx, caller, request.id, signature, now);
  const tally = await recordVote(tx, context, request, rule, cast, use, originOf(caller));
  if (!tally.isEnough) {
    const { projectId, id: requestId } = request;
    tx.onCommit(() => context.wake.signal({ kind: "voted", projectId, requestId }));
    return { request, resolution: undefined, isAnswer: true };
  }
  const voters = tally.counted.map(({ reviewerId }) => reviewerId);
  const ending = approvalEnding(facts, tally.counted);
  const ended = await resolveRequest(tx, context, request, ending, {
    detail: { ...originOf(caller), voters },
  });
  const outcome = toOutcome(request, ended, "approved");
  // The deadline passed during the write, so the vote is too late and is rolled back.
  if (!outcome.isAnswer) throw new DeadlinePassed();
  return outcome;
}

/** Valid for the shortest time of the votes and the rule. */
function approvalEnding(
  { context: { settings }, caller, judgement, verdict }: VerdictFacts,
  votes: readonly Pick<StoredVote, "validityMs">[],
): IntendedDecision {
  const wanted = votes.map(({ validityMs }) => validityMs ?? settings.validityMsDefault);
  return {
    status: "approved",
    by: `reviewer:${caller.reviewerId}`,
    note: verdictNote(verdict),
    validityMs: Math.min(...wanted, judgement.validityMs ?? Number.POSITIVE_INFINITY),
  };
}

/** For the audit entry: the chat in which a reviewer decided. */
function originOf({ chat }: ReviewerCaller): { readonly chat: string | undefined } {
  return { chat: chat?.text };
}

async function readOwner(tx: Transaction, request: StoredRequest): Promise<string | null> {
  const { projectId, instanceId } = request;
  return (await readInstances(tx, projectId, [instanceId])).get(instanceId)?.ownerId ?? null;
}

function readOnce<T>(read: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => {
    result ??= read();
    return result;
  };
}
