/** Adds to proposals the facts that reviewers need in order to publish or reject them. */

import type { Actor } from "../../core/actor.ts";
import { isPermitted } from "../../core/scopes.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { type PolicyScope, publishPowerFor } from "../../identity/policy-authority.ts";
import type { ProposalOutline, StoredProposal } from "../../storage/sql/policy/policy-proposals.ts";
import { readPolicyNumber } from "../../storage/sql/policy/policy-versions.ts";
import type { Reader } from "../../storage/store.ts";
import { refusalToPublish } from "./assertOtherPerson.ts";
import { readActorNames } from "./readPublishers.ts";

export type { ProposalOutline };

/** A proposal with related facts for reviewers. */
export interface ReviewedProposal<P extends ProposalOutline = StoredProposal> {
  readonly scope: PolicyScope;
  readonly proposal: P;
  /** Names of its author and closer, if they belong to the caller's project. */
  readonly names: ReadonlyMap<Actor, string>;
  /** True for an open proposal when another version has become active since. */
  readonly isOutdated: boolean;
  /** Why the caller, with the power to publish, may not publish it; for open ones. */
  readonly refusal: string | undefined;
}

export async function reviewProposals<P extends ProposalOutline>(
  reader: Reader,
  caller: ReviewerCaller,
  scope: PolicyScope,
  proposals: readonly P[],
): Promise<ReviewedProposal<P>[]> {
  const actors = proposals.flatMap(({ proposedBy, end }) => [proposedBy, end?.closedBy ?? null]);
  const names = await readActorNames(reader, caller.projectId, actors);
  const reviewed: ReviewedProposal<P>[] = [];
  for (const proposal of proposals) {
    const isOpen = proposal.end === null;
    const isOutdated =
      isOpen && (await readPolicyNumber(reader, proposal.projectId)) !== proposal.baseNumber;
    const mayPublish = isOpen && isPermitted(caller, publishPowerFor(scope));
    const refusal = mayPublish ? await refusalToPublish(reader, caller, proposal) : undefined;
    reviewed.push({ scope, proposal, names, isOutdated, refusal });
  }
  return reviewed;
}

export async function reviewProposal<P extends ProposalOutline>(
  reader: Reader,
  caller: ReviewerCaller,
  scope: PolicyScope,
  proposal: P,
): Promise<ReviewedProposal<P>> {
  const [reviewed] = await reviewProposals(reader, caller, scope, [proposal]);
  if (reviewed === undefined) throw new Error("a proposal has no reviewed form");
  return reviewed;
}
