/** Adds to requests the facts that reviewers need for a decision. */

import { isAbsent } from "../../core/absence.ts";
import type { StoredConsumption } from "../../core/consumption.ts";
import type { StoredFreeze } from "../../core/freeze.ts";
import {
  deciderId,
  freezeId,
  isOverdue,
  type JsonText,
  reviewerIdOf,
  type StoredRequest,
} from "../../core/request.ts";
import { mayVote } from "../../core/scopes.ts";
import { deciderOf, refusalOf } from "../../identity/assert-may.ts";
import { placeOf, type ReviewerCaller } from "../../identity/caller.ts";
import {
  approvalRefusal,
  collectsVotes,
  denialRefusal,
  failedAttemptsRefusal,
  needsPasskey,
  passkeyRefusal,
} from "../../policy/decider.ts";
import { type Judgement, readJudgement, requirementOf } from "../../policy/judgement.ts";
import { placeRefusal } from "../../policy/place.ts";
import type { Requirement } from "../../policy/rule.ts";
import { readReviewers } from "../../storage/sql/access/holders.ts";
import { readFreezes } from "../../storage/sql/freezes/freezes.ts";
import { readInstances } from "../../storage/sql/instances/instances.ts";
import type { NamedAbsence } from "../../storage/sql/people/absences.ts";
import { readRequestClaims } from "../../storage/sql/requests/claims.ts";
import { countComments } from "../../storage/sql/requests/comments.ts";
import { readConsumptions } from "../../storage/sql/requests/consumptions.ts";
import {
  type DelayedVerdict,
  readDelayedVerdicts,
} from "../../storage/sql/requests/delayed-verdicts.ts";
import { readFailedConfirmations } from "../../storage/sql/requests/failed-confirmations.ts";
import { readVotes, type StoredVote } from "../../storage/sql/requests/votes.ts";
import { hasPasskey } from "../../storage/sql/sign-in/passkeys.ts";
import type { Reader } from "../../storage/store.ts";
import { readAbsences } from "../access/readAbsences.ts";
import { readActiveReviewers } from "../access/readActiveReviewers.ts";
import { canDecide, type PossibleDecider } from "../push/canDecide.ts";

/** A request with related facts for reviewers. */
export interface ReviewedRequest {
  readonly request: StoredRequest;
  /** Unverified: a name does not prove an identity. */
  readonly instanceName: JsonText;
  readonly judgement: Judgement;
  readonly requirement: Requirement;
  /** Approvals so far, in chronological order. */
  readonly votes: readonly ReviewedVote[];
  /** The reviewer who reviews the request; undefined: none. */
  readonly claim: ReviewedClaim | undefined;
  readonly commentCount: number;
  /** Of reviewers who may decide a pending request and are absent now. */
  readonly absences: readonly NamedAbsence[];
  /** The caller's own delayed verdict; undefined: none. */
  readonly delayed: DelayedVerdict | undefined;
  /** How the agent used the approval; undefined: unused or not reported. */
  readonly consumption: StoredConsumption | undefined;
  readonly mayDecide: MayDecide;
  /** Name of the reviewer who decided; undefined for other deciders. */
  readonly decider: string | undefined;
  /** The freeze that denied the request; undefined: none, or it was purged. */
  readonly freeze: DenyingFreeze | undefined;
}

export interface DenyingFreeze extends Pick<StoredFreeze, "frozenAt" | "frozenBy"> {
  /** Name of the reviewer who set it; undefined for a reviewer outside the project. */
  readonly reviewer: string | undefined;
}

export interface ReviewedClaim {
  readonly reviewerId: string;
  /** Name of the reviewer. */
  readonly reviewer: string;
  /** Epoch ms. */
  readonly at: number;
  readonly until: number;
}

export interface ReviewedVote {
  /** Name of the reviewer. */
  readonly reviewer: string;
  readonly note: JsonText | null;
  /** Epoch ms. */
  readonly at: number;
}

/** Current permissions of the caller for the request. */
export interface MayDecide {
  readonly approve: boolean;
  readonly deny: boolean;
  /** Why the caller cannot approve; undefined otherwise. */
  readonly reason: string | undefined;
}

/**
 * Adds to requests the facts that reviewers need for a decision.
 *
 * @param requests of the caller's project
 * @param now epoch ms
 */
export async function reviewRequests(
  reader: Reader,
  caller: ReviewerCaller,
  requests: readonly StoredRequest[],
  now: number,
): Promise<ReviewedRequest[]> {
  const gathered = await gatherRequests(reader, caller.projectId, requests, now);
  const isPasskeyNeeded = gathered.some(({ requirement }) => needsPasskey(requirement));
  const signer = isPasskeyNeeded ? await toSigner(reader, caller) : NO_SIGNER;
  return gathered.map((one) => reviewFor(caller, signer, one, now));
}

/** A request with its instance and requirement, for any reader. */
interface GatheredRequest extends Pick<ReviewedRequest, "request" | "instanceName"> {
  readonly judgement: Judgement;
  readonly requirement: Requirement;
  readonly ownerId: string | null;
  readonly votes: readonly StoredVote[];
  readonly claim: ReviewedClaim | undefined;
  readonly commentCount: number;
  readonly absences: readonly NamedAbsence[];
  readonly delayed: readonly DelayedVerdict[];
  readonly consumption: StoredConsumption | undefined;
  readonly freeze: DenyingFreeze | undefined;
  readonly failedConfirmations: Awaited<ReturnType<typeof readFailedConfirmations>>;
  /** Names of voters, deciders and reviewers who set a freeze, by their ids. */
  readonly names: ReadonlyMap<string, string>;
}

/** @param requests of this project */
async function gatherRequests(
  reader: Reader,
  projectId: string,
  requests: readonly StoredRequest[],
  now: number,
): Promise<GatheredRequest[]> {
  const judged = requests.map((request) => {
    const judgement = readJudgement(request.policy);
    return { request, judgement, requirement: requirementOf(judgement) };
  });
  const idsOf = (isWanted: (one: (typeof judged)[number]) => boolean) =>
    judged.filter(isWanted).map(({ request }) => request.id);
  const voted = idsOf(({ requirement }) => collectsVotes(requirement));
  const votesOf = async () => {
    const [votes, freezes] = await Promise.all([
      readVotes(reader, projectId, voted),
      readFreezes(reader, projectId, [
        ...new Set(requests.flatMap((request) => freezeId(request) ?? [])),
      ]),
    ]);
    const people = new Set([
      ...votes.map(({ reviewerId }) => reviewerId),
      ...requests.flatMap((request) => deciderId(request) ?? []),
      ...freezes.flatMap(({ frozenBy }) => reviewerIdOf(frozenBy) ?? []),
    ]);
    return { votes, freezes, reviewers: await readReviewers(reader, projectId, [...people]) };
  };
  const pending = idsOf(({ request }) => isPending(request));
  const [
    instances,
    { votes, freezes, reviewers },
    claims,
    commentCounts,
    absentees,
    delayed,
    failedConfirmations,
    consumptions,
  ] = await Promise.all([
    readInstances(reader, projectId, [...new Set(requests.map((one) => one.instanceId))]),
    votesOf(),
    claimsOf(reader, projectId, pending, now),
    countComments(
      reader,
      projectId,
      idsOf(() => true),
    ),
    pending.length === 0 ? [] : absenteesOf(reader, projectId, now),
    readDelayedVerdicts(reader, projectId, pending),
    readFailedConfirmations(
      reader,
      projectId,
      idsOf((one) => isPending(one.request) && isMatched(one)),
    ),
    readConsumptions(
      reader,
      projectId,
      idsOf(({ request }) => request.status === "approved"),
    ),
  ]);
  const names = new Map(reviewers.map(({ id, name }) => [id, name]));
  const freezeOf = (request: StoredRequest) => {
    const freeze = freezes.find(({ id }) => id === freezeId(request));
    return freeze && { ...freeze, reviewer: names.get(reviewerIdOf(freeze.frozenBy) ?? "") };
  };
  return judged.map((one) => {
    const { id, instanceId } = one.request;
    const instance = instances.get(instanceId);
    const isOf = ({ requestId }: { readonly requestId: string }) => requestId === id;
    return {
      ...one,
      instanceName: instance?.name ?? '""',
      ownerId: instance?.ownerId ?? null,
      names,
      votes: votes.filter(isOf),
      claim: claims.get(id),
      commentCount: commentCounts.get(id) ?? 0,
      absences: absentees.flatMap(({ absence, reviewer }) =>
        isPending(one.request) && canDecide(one.request, reviewer, instance?.ownerId ?? null)
          ? [absence]
          : [],
      ),
      delayed: delayed.filter(isOf),
      failedConfirmations: failedConfirmations.filter(isOf),
      consumption: consumptions.get(id),
      freeze: freezeOf(one.request),
    };
  });
}

/** Claims of reviewers who can still sign in. */
async function claimsOf(
  reader: Reader,
  projectId: string,
  pending: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, ReviewedClaim>> {
  const claims = await readRequestClaims(reader, projectId, pending, now);
  const ids = [...new Set(claims.map(({ reviewerId }) => reviewerId))];
  const reviewers = await readActiveReviewers(reader, projectId, ids, now);
  const names = new Map(reviewers.map(({ id, name }) => [id, name]));
  return new Map(
    claims.flatMap(({ requestId, reviewerId, at, until }) => {
      const reviewer = names.get(reviewerId);
      return reviewer === undefined ? [] : [[requestId, { reviewerId, reviewer, at, until }]];
    }),
  );
}

/** Reviewers who are absent now and can authenticate. */
async function absenteesOf(reader: Reader, projectId: string, now: number): Promise<Absentee[]> {
  const absences = (await readAbsences(reader, projectId, now)).filter((one) => isAbsent(one, now));
  const ids = absences.map(({ reviewerId }) => reviewerId);
  const reviewers = await readActiveReviewers(reader, projectId, ids, now);
  return absences.flatMap((absence) => {
    const { reviewerId } = absence;
    const reviewer = reviewers.find(({ id }) => id === reviewerId);
    return reviewer === undefined ? [] : [{ absence, reviewer: { ...reviewer, reviewerId } }];
  });
}

interface Absentee {
  readonly absence: NamedAbsence;
  readonly reviewer: PossibleDecider;
}

function isPending({ decision }: StoredRequest): boolean {
  return decision === null;
}

function isMatched({ requirement }: { readonly requirement: Requirement }): boolean {
  return requirement.confirm.kind === "match";
}

/** The gathered facts from the perspective of this caller. */
function reviewFor(
  caller: ReviewerCaller,
  signer: Signer,
  gathered: GatheredRequest,
  now: number,
): ReviewedRequest {
  const { request, judgement, requirement, instanceName, names, consumption } = gathered;
  return {
    request,
    judgement,
    requirement,
    instanceName,
    consumption,
    votes: gathered.votes.map(({ reviewerId, note, votedAt: at }) => {
      return { reviewer: names.get(reviewerId) ?? "", note, at };
    }),
    claim: gathered.claim,
    commentCount: gathered.commentCount,
    absences: gathered.absences,
    delayed: gathered.delayed.find(({ reviewerId }) => reviewerId === caller.reviewerId),
    mayDecide: mayDecide(caller, signer, gathered, now),
    decider: names.get(deciderId(request) ?? ""),
    freeze: gathered.freeze,
  };
}

export type Signer = Parameters<typeof passkeyRefusal>[0];

const NO_SIGNER: Signer = { isPerson: false, hasPasskey: false };

/** Whether a caller can sign an approval. */
export async function toSigner(
  reader: Reader,
  { session, personId }: ReviewerCaller,
): Promise<Signer> {
  if (session === null || personId === null) return NO_SIGNER;
  return { isPerson: true, hasPasskey: await hasPasskey(reader, personId) };
}

function mayDecide(
  caller: ReviewerCaller,
  signer: Signer,
  { request, requirement, votes, failedConfirmations, ownerId }: GatheredRequest,
  now: number,
): MayDecide {
  const refused = (reason: string) => ({ approve: false, deny: false, reason });
  // A resolved request is the same for every caller.
  if (request.decision !== null) return refused(`The request is already ${request.status}.`);
  if (isOverdue(request, now)) return refused("The request is already expired.");
  if (!mayVote(caller)) return refused(refusalOf(caller, "decide"));
  const decider = deciderOf(caller);
  const deny = denialRefusal(requirement, decider, { ownerId }) === undefined;
  const { instanceId } = request;
  const refusal =
    approvalRefusal(requirement, decider, { ownerId, instanceId }) ??
    placeRefusal(requirement.channels, placeOf(caller)) ??
    (needsPasskey(requirement) ? passkeyRefusal(signer) : undefined) ??
    failedAttemptsRefusal(
      failedConfirmations.find(({ reviewerId }) => reviewerId === caller.reviewerId)?.attempts ?? 0,
    );
  const hasVoted = votes.some(({ reviewerId }) => reviewerId === caller.reviewerId);
  const reason =
    refusal ?? (hasVoted ? "You have approved this call. It needs more approvals." : undefined);
  return { approve: reason === undefined, deny, reason };
}
