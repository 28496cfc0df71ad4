/**
 * Proposals of policies for people: one with all that is known of it, a table for many.
 */

import { renderColumns } from "@countersign/command-line";
import type { ProposalOutline } from "@countersign/review-api";
import { excerpt, visibleText } from "./visible-text.ts";

/** The author and state of the proposal, and whether the reader may publish it. */
export function renderProposal(proposal: ProposalOutline): string {
  const { id, state, note, sha256, base_number: baseNumber, tests, refusal, reason } = proposal;
  const closedBy = proposal.closer ?? proposal.closed_by;
  const why = note === undefined ? "" : `: ${note}`;
  const from = baseNumber === 0 ? "no version" : `version ${baseNumber}`;
  const passed = tests === 1 ? "its test passed" : `its ${tests} tests passed`;
  const end = closedBy === undefined ? state : `${state} by ${closedBy}`;
  return [
    `Proposal ${id} by ${authorOf(proposal)} at ${proposal.proposed_at}${why} (sha256 ${sha256})`,
    `It began from ${from}${tests === 0 ? "" : `, ${passed}`}, and is ${end}.`,
    ...(reason === undefined ? [] : [`Why: ${reason}`]),
    ...(refusal === undefined ? [] : [refusal]),
  ]
    .map(visibleText)
    .join("\n");
}

function authorOf({ proposer, proposed_by: proposedBy }: ProposalOutline): string {
  return proposer ?? proposedBy;
}

export function renderProposals(proposals: readonly ProposalOutline[]): string {
  const rows = proposals.map((proposal) => [
    proposal.id,
    proposal.state,
    proposal.proposed_at,
    excerpt(authorOf(proposal), 30),
    String(proposal.base_number),
    excerpt(proposal.note ?? "", 60),
  ]);
  return renderColumns([["PROPOSAL", "STATE", "PROPOSED", "BY", "FROM", "NOTE"], ...rows]);
}
