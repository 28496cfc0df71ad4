/** Returns the proposals of a policy. */

import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { type PolicyScope, projectOf } from "../../identity/policy-authority.ts";
import {
  type ReviewedProposal,
  reviewProposal,
  reviewProposals,
} from "../../steps/policy/reviewProposals.ts";
import {
  listClosedProposals,
  listOpenProposals,
  type ProposalOutline,
  readProposal,
} from "../../storage/sql/policy/policy-proposals.ts";
import type { Cursor } from "../../storage/sql/requests/requests.ts";

export type { ProposalOutline, ReviewedProposal };

export interface ProposalListing {
  readonly state: "open" | "closed";
  readonly limit: number;
  /** End of the previous page. */
  readonly after?: Cursor | undefined;
}

export interface ProposalPage {
  readonly proposals: readonly ReviewedProposal<ProposalOutline>[];
  /** Cursor of the next page; undefined on the last one. */
  readonly next: Cursor | undefined;
}

/** Sorts after every identifier, in any collation. */
const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** Proposals for the caller's policy, or the baseline policy, latest first, without sources. */
export async function listProposals(
  { store }: Context,
  caller: ReviewerCaller,
  scope: PolicyScope,
  { state, limit, after }: ProposalListing,
): Promise<ProposalPage> {
  const list = state === "open" ? listOpenProposals : listClosedProposals;
  // One more than the limit shows whether there is a next page.
  const found = await list(store, projectOf(caller, scope), after?.id ?? LAST_ID, limit + 1);
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  return {
    proposals: await reviewProposals(store, caller, scope, shown),
    next: shown.length < found.length && last ? { at: last.proposedAt, id: last.id } : undefined,
  };
}

/**
 * One proposal with its source.
 *
 * @throws Problem `not_found`
 */
export async function showProposal(
  { store }: Context,
  caller: ReviewerCaller,
  scope: PolicyScope,
  id: string,
): Promise<ReviewedProposal> {
  const proposal = await readProposal(store, { projectId: projectOf(caller, scope), id });
  if (proposal === undefined) throw new Problem("not_found");
  return reviewProposal(store, caller, scope, proposal);
}
