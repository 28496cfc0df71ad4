/** Finds the grant that approves a call, and counts the call. */

import type { StoredGrant } from "../../core/grant.ts";
import type { StoredInstance } from "../../core/instance.ts";
import { isPermitted } from "../../core/scopes.ts";
import { approvalRefusal, isBlank, isEnough } from "../../policy/decider.ts";
import { findMatchingTerms } from "../../policy/grant-terms.ts";
import type { Call, Requirement } from "../../policy/rule.ts";
import { countCall, readActiveGrants, uncountCall } from "../../storage/sql/grants/grants.ts";
import type { RowKey } from "../../storage/sql/keys.ts";
import type { Reader, Transaction } from "../../storage/store.ts";
import {
  type ActiveReviewer,
  lockActiveReviewers,
  readActiveReviewers,
} from "../access/readActiveReviewers.ts";

/** Maximum active grants of an instance. */
export const GRANTS_PER_INSTANCE_MAX = 100;

/** A call for which policy requires a review. */
export interface UndecidedCall {
  readonly instance: StoredInstance;
  readonly call: Call;
  readonly requirement: Requirement;
  /** False after a policy error or an inexact number: then only people may approve. */
  readonly isCertain: boolean;
  /** Epoch ms. */
  readonly now: number;
}

/** The approval by a grant. */
export interface UsedGrant {
  readonly id: string;
  readonly note: string | null;
  /** Validity of the approval; undefined: the default. */
  readonly validityMs: number | undefined;
}

/**
 * Finds a grant that approves a call, and counts the call. A grant approves only calls that its
 * creator could approve now, alone and with a click. While the creator lacks the token, the role or
 * the group, the grant approves nothing.
 *
 * If the call is not approved in the end, call {@link refundCall}.
 */
export async function useGrant(
  tx: Transaction,
  undecided: UndecidedCall,
): Promise<UsedGrant | undefined> {
  const { projectId } = undecided.instance;
  const lock: ReadReviewers = (ids) => lockActiveReviewers(tx, projectId, ids, undecided.now);
  for await (const grant of matchingGrants(tx, lock, undecided)) {
    // Concurrent calls may have used the remaining count since it was read.
    if (await countCall(tx, grant, undecided.now)) return toUsed(grant);
  }
  return undefined;
}

/** As {@link useGrant}, without counting the call: it may not be approved later. */
export async function findGrant(
  reader: Reader,
  undecided: UndecidedCall,
): Promise<UsedGrant | undefined> {
  const { projectId } = undecided.instance;
  const read: ReadReviewers = (ids) => readActiveReviewers(reader, projectId, ids, undecided.now);
  for await (const grant of matchingGrants(reader, read, undecided)) return toUsed(grant);
  return undefined;
}

type ReadReviewers = (ids: readonly string[]) => Promise<readonly ActiveReviewer[]>;

async function* matchingGrants(
  reader: Reader,
  readReviewers: ReadReviewers,
  { instance, call, requirement, isCertain, now }: UndecidedCall,
): AsyncGenerator<StoredGrant> {
  if (!isCertain || !takesGrants(requirement)) return;
  const { id: instanceId, projectId } = instance;
  const key = { projectId, instanceId };
  const grants = await readActiveGrants(reader, key, now, GRANTS_PER_INSTANCE_MAX);
  const fitting = findMatchingTerms(
    grants.map(({ terms }) => terms),
    call,
  );
  for (const grant of grants) {
    if (requirement.noteRequired && isBlank(grant.terms.note)) continue;
    if (!fitting.has(grant.terms)) continue;
    if (await couldApprove(readReviewers, grant, instance, requirement)) yield grant;
  }
}

function toUsed({ id, terms }: StoredGrant): UsedGrant {
  return { id, note: terms.note ?? null, validityMs: terms.validityMs };
}

/** Takes back the call that {@link useGrant} counted in this transaction. */
export async function refundCall(tx: Transaction, grant: RowKey): Promise<void> {
  await uncountCall(tx, grant);
}

/** True when one reviewer could approve in advance. A typed confirmation is for one call only. */
export function takesGrants({ grants, quorum, confirm }: Requirement): boolean {
  return grants && quorum === 1 && confirm.kind === "click";
}

async function couldApprove(
  readReviewers: ReadReviewers,
  { reviewerId, instanceId }: StoredGrant,
  { ownerId }: StoredInstance,
  requirement: Requirement,
): Promise<boolean> {
  const [reviewer] = await readReviewers([reviewerId]);
  if (reviewer === undefined) return false;
  if (!reviewer.ways.some((scopes) => isPermitted({ role: reviewer.role, scopes }, "decide")))
    return false;
  const maker = { ...reviewer, forGroups: null };
  if (approvalRefusal(requirement, maker, { ownerId, instanceId }) !== undefined) return false;
  return isEnough(requirement, [maker]);
}
