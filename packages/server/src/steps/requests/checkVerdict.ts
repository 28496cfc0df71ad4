/**
 * The checks of a verdict as an ordered table. All of them run in the transaction that has locked
 * the request. The first finding ends the verdict.
 */

import { Problem, type ProblemCode } from "@countersign/protocol";
import type { Settings } from "../../config/settings.ts";
import type { Context } from "../../context.ts";
import { sha256Hex } from "../../core/digest.ts";
import { type FreezeRef, freezeDecision } from "../../core/freeze.ts";
import {
  type IntendedDecision,
  isClosed,
  type Resolution,
  type ResolvableRequest,
  type StoredDecision,
  type StoredRequest,
} from "../../core/request.ts";
import { assertMayVote, deciderOf } from "../../identity/assert-may.ts";
import { placeOf, type ReviewerCaller } from "../../identity/caller.ts";
import {
  approvalRefusal,
  confirmationFault,
  denialRefusal,
  isBlank,
  needsPasskey,
  passkeyRefusal,
} from "../../policy/decider.ts";
import type { Judgement } from "../../policy/judgement.ts";
import { placeRefusal } from "../../policy/place.ts";
import type { Requirement } from "../../policy/rule.ts";
import type { DelayedVerdict } from "../../storage/sql/requests/delayed-verdicts.ts";
import { readVotes } from "../../storage/sql/requests/votes.ts";
import type { Transaction } from "../../storage/store.ts";
import { attemptsRefusal, countFailedAttempt } from "./countFailedAttempt.ts";
import { delayVerdict, hasRecordedVote } from "./delayVerdict.ts";
import { resolveRequest } from "./resolveRequest.ts";
import { toSigner } from "./reviewRequests.ts";
import { type Verdict, verdictNote } from "./verdictNote.ts";

/** A verdict with the inputs of its checks, read after the lock of the request. */
export interface VerdictFacts {
  readonly tx: Transaction;
  readonly context: Context;
  /** As authenticated when the verdict arrived. */
  readonly caller: ReviewerCaller;
  /** As read by this transaction; rejected when the credential is no longer valid. */
  readonly current: PromiseSettledResult<ReviewerCaller>;
  readonly request: ResolvableRequest;
  readonly judgement: Judgement;
  readonly requirement: Requirement;
  readonly verdict: Verdict;
  readonly now: number;
  /** Only read for approvals. */
  readonly freeze: FreezeRef | undefined;
  /** Reads the owner of the instance once. */
  readonly ownerId: () => Promise<string | null>;
}

export interface VerdictOutcome {
  readonly request: StoredRequest;
  /** Undefined when the request stays pending: a vote was stored, or the verdict is delayed. */
  readonly resolution: Exclude<Resolution, { kind: "not_due" }> | undefined;
  /** True when the recorded decision is this verdict, from this or an earlier attempt. */
  readonly isAnswer: boolean;
  readonly delayed?: DelayedVerdict;
  /** Thrown after the commit, so that a failed attempt stays counted. */
  readonly problem?: Problem;
}

/** A problem rolls the transaction back; an outcome commits it; undefined: the next check runs. */
type Finding = Problem | VerdictOutcome | undefined;

export interface VerdictCheck {
  readonly name: string;
  /** The rule that a passing verdict fulfils. */
  readonly rule: string;
  readonly applies: readonly Verdict["verdict"][];
  /** The problem of a failing verdict, or the content of the response. */
  readonly answer: ProblemCode | "the pending request";
  readonly check: (facts: VerdictFacts) => Finding | Promise<Finding>;
}

const EVERY = ["approve", "deny"] as const;
const APPROVE = ["approve"] as const;
const DENY = ["deny"] as const;

export const VERDICT_CHECKS: readonly VerdictCheck[] = [
  {
    name: "arguments",
    rule: "The reviewer saw exactly the arguments that are stored.",
    applies: EVERY,
    answer: "arguments_mismatch",
    check: findOtherArguments,
  },
  {
    name: "decision",
    rule: "A decided request does not change; the same verdict again gets its decision.",
    applies: EVERY,
    answer: "already_terminal",
    check: findDecision,
  },
  {
    name: "deadline",
    rule: "No verdict counts after the deadline or after the deletion of the instance.",
    applies: EVERY,
    answer: "already_terminal",
    check: closeOverdue,
  },
  {
    name: "credential",
    rule: "The token or session of the reviewer is still valid.",
    applies: EVERY,
    answer: "invalid_credential",
    check: findEndedCredential,
  },
  {
    name: "role",
    rule: "The role and the scopes of the reviewer still allow decisions.",
    applies: EVERY,
    answer: "forbidden",
    check: findMissingRole,
  },
  {
    name: "denier",
    rule: "The rule names the reviewer, or the reviewer owns the instance.",
    applies: DENY,
    answer: "forbidden",
    check: refuseDenier,
  },
  {
    name: "approver",
    rule: "The rule names the reviewer and excludes neither bots nor the owner.",
    applies: APPROVE,
    answer: "forbidden",
    check: refuseApprover,
  },
  {
    name: "place",
    rule: "The rule permits approvals at this place.",
    applies: APPROVE,
    answer: "forbidden",
    check: refusePlace,
  },
  {
    name: "passkey",
    rule: "The reviewer has a passkey where the rule requires one.",
    applies: APPROVE,
    answer: "forbidden",
    check: findMissingPasskey,
  },
  {
    name: "attempts",
    rule: "The reviewer has attempts left.",
    applies: APPROVE,
    answer: "forbidden",
    check: findTooManyAttempts,
  },
  {
    name: "freeze",
    rule: "A frozen call is denied.",
    applies: APPROVE,
    answer: "already_terminal",
    check: denyFrozen,
  },
  {
    name: "match",
    rule: "A wrong confirmation of the kind `match` counts as a failed attempt.",
    applies: APPROVE,
    answer: "invalid_request",
    check: findFailedAttempt,
  },
  {
    name: "note",
    rule: "An approval has a note where the rule requires one.",
    applies: APPROVE,
    answer: "invalid_request",
    check: findMissingNote,
  },
  {
    name: "confirmation",
    rule: "An approval has the confirmation that the rule requires.",
    applies: APPROVE,
    answer: "invalid_request",
    check: findWrongConfirmation,
  },
  {
    name: "signature",
    rule: "An approval has a signature where the rule requires a passkey.",
    applies: APPROVE,
    answer: "invalid_request",
    check: findMissingSignature,
  },
  {
    name: "validity",
    rule: "The validity is within the bounds of the operator and the rule.",
    applies: APPROVE,
    answer: "invalid_request",
    check: findInvalidValidity,
  },
  {
    name: "vote",
    rule: "A delayed approval that is a vote already is not delayed again.",
    applies: APPROVE,
    answer: "the pending request",
    check: findRecordedVote,
  },
  {
    name: "delay",
    rule: "A verdict with a delay is stored until its time.",
    applies: EVERY,
    answer: "the pending request",
    check: delay,
  },
];

/**
 * Runs the applicable checks in order.
 *
 * @returns the outcome of the check that ended the verdict; undefined: record the verdict
 * @throws Problem of the first failed check
 */
export async function checkVerdict(facts: VerdictFacts): Promise<VerdictOutcome | undefined> {
  for (const { applies, check } of VERDICT_CHECKS) {
    if (!applies.includes(facts.verdict.verdict)) continue;
    const finding = await check(facts);
    if (finding instanceof Problem) throw finding;
    if (finding !== undefined) return finding;
  }
  return undefined;
}

/** @param wanted the status that makes the resolution the answer to the verdict */
export function toOutcome(
  request: StoredRequest,
  resolution: Resolution,
  wanted?: StoredDecision["status"],
): VerdictOutcome {
  if (resolution.kind === "not_due") throw new Error("a verdict cannot be early");
  return { request, resolution, isAnswer: resolution.decision.status === wanted };
}

/** The owner when the rule excludes the owner from approving; null otherwise. */
export async function excludedOwner({
  requirement,
  ownerId,
}: VerdictFacts): Promise<string | null> {
  return requirement.excludeOwner ? ownerId() : null;
}

/** The operator's bounds. A rule may only shorten them. */
export function validityProblem(
  { validityMsMin, validityMsMax }: Settings,
  { verdict, validityMs }: Verdict,
  ofRule: number | undefined,
): Problem | undefined {
  if (verdict === "deny" || validityMs === undefined) return undefined;
  const max = Math.min(validityMsMax, ofRule ?? Number.POSITIVE_INFINITY);
  const min = Math.min(validityMsMin, max);
  if (validityMs >= min && validityMs <= max) return undefined;
  const message = `valid_for must be between ${min / 1000}s and ${max / 1000}s.`;
  return new Problem("invalid_request", message, { param: "valid_for" });
}

function findOtherArguments({ request, verdict }: VerdictFacts): Finding {
  if (sha256Hex(request.arguments) === verdict.argumentsSha256) return undefined;
  return new Problem("arguments_mismatch", undefined, { param: "arguments_sha256" });
}

async function findDecision(facts: VerdictFacts): Promise<Finding> {
  const { request } = facts;
  const { decision } = request;
  if (decision === null) return undefined;
  const isAnswer = await isSameVerdict(facts, decision);
  return { request, resolution: { kind: "already_terminal", decision }, isAnswer };
}

/** True when the decision equals this verdict, or is an approval that this verdict voted for. */
async function isSameVerdict(
  { tx, caller, request: { projectId, id }, verdict }: VerdictFacts,
  { status, decidedBy, note }: StoredDecision,
): Promise<boolean> {
  if (status !== (verdict.verdict === "approve" ? "approved" : "denied")) return false;
  if (decidedBy === `reviewer:${caller.reviewerId}`) return note === verdictNote(verdict);
  const votes = status === "approved" ? await readVotes(tx, projectId, [id]) : [];
  const own = votes.find(({ reviewerId }) => reviewerId === caller.reviewerId);
  return own !== undefined && own.note === verdictNote(verdict);
}

async function closeOverdue(facts: VerdictFacts): Promise<Finding> {
  if (!isClosed(facts.request, facts.now)) return undefined;
  return resolveInstead(facts, { status: "expired" });
}

function findEndedCredential(facts: VerdictFacts): Finding {
  reviewerOf(facts);
  return undefined;
}

function findMissingRole(facts: VerdictFacts): Finding {
  assertMayVote(reviewerOf(facts));
  return undefined;
}

async function refuseDenier(facts: VerdictFacts): Promise<Finding> {
  const { requirement, ownerId } = facts;
  const decider = deciderOf(reviewerOf(facts));
  // Everyone who may decide, except callers restricted to groups.
  if (requirement.from.length === 0 && decider.forGroups === null) return undefined;
  return forbidden(denialRefusal(requirement, decider, { ownerId: await ownerId() }));
}

async function refuseApprover(facts: VerdictFacts): Promise<Finding> {
  const { requirement, request } = facts;
  const owned = { ownerId: await excludedOwner(facts), instanceId: request.instanceId };
  return forbidden(approvalRefusal(requirement, deciderOf(reviewerOf(facts)), owned));
}

function refusePlace({ requirement, caller }: VerdictFacts): Finding {
  return forbidden(placeRefusal(requirement.channels, placeOf(caller)));
}

async function findMissingPasskey(facts: VerdictFacts): Promise<Finding> {
  if (!needsPasskey(facts.requirement)) return undefined;
  return forbidden(passkeyRefusal(await toSigner(facts.tx, reviewerOf(facts))));
}

async function findTooManyAttempts(facts: VerdictFacts): Promise<Finding> {
  return forbidden(await attemptsRefusal(facts.tx, reviewerOf(facts), facts.request));
}

async function denyFrozen(facts: VerdictFacts): Promise<Finding> {
  const { freeze } = facts;
  if (freeze === undefined) return undefined;
  return resolveInstead(facts, freezeDecision(freeze));
}

async function findFailedAttempt(facts: VerdictFacts): Promise<Finding> {
  const { tx, context, caller, request, verdict, now } = facts;
  const problem = await countFailedAttempt(tx, context, caller, request, verdict, now);
  return problem && { request, resolution: undefined, isAnswer: false, problem };
}

function findMissingNote({ requirement, verdict }: VerdictFacts): Finding {
  if (!requirement.noteRequired || !isBlank(verdict.note)) return undefined;
  const message = "note is required to approve this call and must not be blank.";
  return new Problem("invalid_request", message, { param: "note" });
}

function findWrongConfirmation({ requirement, request, verdict }: VerdictFacts): Finding {
  const fault = confirmationFault(requirement.confirm, request.id, verdict.confirmation);
  if (fault === undefined) return undefined;
  return new Problem("invalid_request", `confirmation ${fault}.`, { param: "confirmation" });
}

function findMissingSignature({ requirement, verdict }: VerdictFacts): Finding {
  if (!needsPasskey(requirement) || verdict.signature !== undefined) return undefined;
  const message = "passkey is required to approve this call. Request its challenge first.";
  return new Problem("invalid_request", message, { param: "passkey" });
}

function findInvalidValidity({ context, judgement, verdict }: VerdictFacts): Finding {
  return validityProblem(context.settings, verdict, judgement.validityMs);
}

async function findRecordedVote(facts: VerdictFacts): Promise<Finding> {
  const { tx, caller, request, verdict } = facts;
  if (!(await hasRecordedVote(tx, caller, request, verdict))) return undefined;
  return { request, resolution: undefined, isAnswer: true };
}

async function delay(facts: VerdictFacts): Promise<Finding> {
  const { tx, context, caller, request, verdict, now } = facts;
  const delayed = await delayVerdict(tx, context, caller, request, verdict, now);
  return delayed && { request, resolution: undefined, isAnswer: true, delayed };
}

async function resolveInstead(
  { tx, context, request, now }: VerdictFacts,
  ending: IntendedDecision,
): Promise<VerdictOutcome> {
  return toOutcome(request, await resolveRequest(tx, context, request, ending, { now }));
}

/** The reviewer as read by the transaction, because body and lock may have taken time. */
function reviewerOf({ current }: VerdictFacts): ReviewerCaller {
  if (current.status === "rejected") throw current.reason;
  return current.value;
}

function forbidden(refusal: string | undefined): Problem | undefined {
  return refusal === undefined ? undefined : new Problem("forbidden", refusal);
}
