/** Approves a call with a grant, and counts the call. */

import type { StoredGrant } from "../../core/grant.ts";
import type { StoredInstance } from "../../core/instance.ts";
import { isPermitted } from "../../core/scopes.ts";
import { approvalRefusal, isBlank, isEnough } from "../../policy/decider.ts";
import { findMatchingTerms } from "../../policy/grant-terms.ts";
import type { Call, Requirement } from "../../policy/rule.ts";
import { countCall, readActiveGrants, uncountCall } from "../../storage/sql/grants/grants.ts";
import type { RowKey } from "../../storage/sql/keys.ts";
import type { Transaction } from "../../storage/store.ts";
import { lockActiveReviewers } from "../access/readActiveReviewers.ts";

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
  { instance, call, requirement, isCertain, now }: UndecidedCall,
): Promise<UsedGrant | undefined> {
  if (!isCertain || !takesGrants(requirement)) return undefined;
  const { id: instanceId, projectId } = instance;
  const key = { projectId, instanceId };
  const grants = await readActiveGrants(tx, key, now, GRANTS_PER_INSTANCE_MAX);
  const fitting = findMatchingTerms(
    grants.map(({ terms }) => terms),
    call,
  );
  for (const grant of grants) {
    const { id, terms } = grant;
    if (requirement.noteRequired && isBlank(terms.note)) continue;
    if (!fitting.has(terms)) continue;
    if (!(await couldApprove(tx, grant, instance, requirement, now))) continue;
    // Concurrent calls may have used the remaining count since it was read.
    if (!(await countCall(tx, grant, now))) continue;
    return { id, note: terms.note ?? null, validityMs: terms.validityMs };
  }
  return undefined;
}

/** Takes back the call that {@link useGrant} counted in this transaction. */
export async function refundCall(tx: Transaction, grant: RowKey): Promise<void> {
  await uncountCall(tx, grant);
}

/** True when one reviewer could approve in advance. A typed confirmation is for one call only. */
function takesGrants({ grants, quorum, confirm }: Requirement): boolean {
  return grants && quorum === 1 && confirm.kind === "click";
}

async function couldApprove(
  tx: Transaction,
  { projectId, reviewerId, instanceId }: StoredGrant,
  { ownerId }: StoredInstance,
  requirement: Requirement,
  now: number,
): Promise<boolean> {
  const [reviewer] = await lockActiveReviewers(tx, projectId, [reviewerId], now);
  if (reviewer === undefined) return false;
  if (!reviewer.ways.some((scopes) => isPermitted({ role: reviewer.role, scopes }, "decide")))
    return false;
  const maker = { ...reviewer, forGroups: null };
  if (approvalRefusal(requirement, maker, { ownerId, instanceId }) !== undefined) return false;
  return isEnough(requirement, [maker]);
}
