import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { StoredRequest } from "../../core/request.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { findMatchingTerms } from "../../policy/grant-terms.ts";
import { initialRequirementOf, isCertain, readJudgement } from "../../policy/judgement.ts";
import { completeTerms, type TermsOrder } from "../../steps/grants/completeTerms.ts";
import { takesGrants } from "../../steps/grants/useGrant.ts";
import { readPastRequests, toPastCall } from "../../steps/policy/readPastRequests.ts";
import { readInstances } from "../../storage/sql/instances/instances.ts";

const DAY_MS = 24 * 3_600_000;

/** The period of the past calls, and how many requests of the project are read. */
export const PREVIEW = { sinceMs: 7 * DAY_MS, requestsMax: 3_000, examplesMax: 5 };

export type { TermsOrder };

export type PreviewedRequest = Pick<StoredRequest, "id" | "tool" | "status" | "createdAt">;

export interface GrantPreview {
  /** Past questions that the grant would have answered. */
  readonly approved: number;
  /** Those of them that a person denied. */
  readonly denied: number;
  /** Some of the denied ones, then some of the others; the latest first. */
  readonly examples: readonly PreviewedRequest[];
  /** False when older requests of the period exist. */
  readonly isComplete: boolean;
}

/**
 * Past questions about calls of the instance that a grant with these terms would have answered, for
 * a reviewer who may approve them, without the request that the terms are from. The limits of calls
 * and of time do not count here. Writes nothing.
 *
 * @throws Problem `forbidden`; `not_found` for a request or an instance outside the project;
 * `invalid_request` naming the field; the reason of the signal
 */
export async function previewGrant(
  context: Context,
  caller: ReviewerCaller,
  order: TermsOrder,
  signal: AbortSignal,
): Promise<GrantPreview> {
  assertMay(caller, "decide");
  // The answer contains calls.
  assertMay(caller, "read");
  const { store, clock, settings } = context;
  const { projectId } = caller;
  const { instanceId, terms } = await completeTerms(store, settings, projectId, order);
  const instance = (await readInstances(store, projectId, [instanceId])).get(instanceId);
  if (instance === undefined || instance.deletedAt !== null) throw new Problem("not_found");
  const until = clock.now() + 1;
  const since = Math.max(0, until - PREVIEW.sinceMs);
  const denied = new Examples();
  const others = new Examples();
  const period = { projectId, since, until, instanceId, max: PREVIEW.requestsMax };
  const isComplete = await readPastRequests(store, period, signal, (request) => {
    if (request.id === order.fromRequest || !isQuestion(request)) return;
    if (findMatchingTerms([terms], toPastCall(request, instance)).size === 0) return;
    (isDeniedByPerson(request) ? denied : others).add(request);
  });
  return {
    approved: denied.count + others.count,
    denied: denied.count,
    examples: [...denied.first, ...others.first].slice(0, PREVIEW.examplesMax),
    isComplete,
  };
}

/** Counts requests and keeps the first ones, without their contents: thousands can be large. */
class Examples {
  readonly first: PreviewedRequest[] = [];
  count = 0;

  add({ id, tool, status, createdAt }: StoredRequest): void {
    this.count++;
    if (this.first.length < PREVIEW.examplesMax) this.first.push({ id, tool, status, createdAt });
  }
}

/** True when policy asked people in a way that a grant without a note can answer. */
function isQuestion({ policy }: StoredRequest): boolean {
  const judgement = readJudgement(policy);
  const requirement = initialRequirementOf(judgement);
  const isForGrants = takesGrants(requirement) && !requirement.noteRequired;
  return judgement.verb === "ask" && isCertain(judgement) && isForGrants;
}

function isDeniedByPerson({ decision }: StoredRequest): boolean {
  return decision?.status === "denied" && decision.decidedBy.startsWith("reviewer:");
}
