/**
 * Proposals of policies for people: one with all that is known of it, a table for many.
 */

import { renderColumns } from "@countersign/command-line";
import type { PolicyProposal } from "./policy-client.ts";
import { excerpt, visibleText } from "./visible-text.ts";

/** Whose it is, what became of it, and whether the reader may publish it. */
export function renderProposal(proposal: PolicyProposal): string {
  const { id, state, proposedBy, proposedAt, note, sha256, baseNumber, tests } = proposal;
  const { refusal, closedBy, reason } = proposal;
  const why = note === undefined ? "" : `: ${note}`;
  const from = baseNumber === 0 ? "no version" : `version ${baseNumber}`;
  const passed = tests === 1 ? "its test passed" : `its ${tests} tests passed`;
  const end = closedBy === undefined ? state : `${state} by ${closedBy}`;
  return [
    `Proposal ${id} by ${proposedBy} at ${proposedAt}${why} (sha256 ${sha256})`,
    `It began from ${from}${tests === 0 ? "" : `, ${passed}`}, and is ${end}.`,
    ...(reason === undefined ? [] : [`Why: ${reason}`]),
    ...(refusal === undefined ? [] : [refusal]),
  ]
    .map(visibleText)
    .join("\n");
}

export function renderProposals(proposals: readonly PolicyProposal[]): string {
  const rows = proposals.map(({ id, state, proposedAt, proposedBy, baseNumber, note }) => [
    id,
    state,
    proposedAt,
    excerpt(proposedBy, 30),
    String(baseNumber),
    excerpt(note ?? "", 60),
  ]);
  return renderColumns([["PROPOSAL", "STATE", "PROPOSED", "BY", "FROM", "NOTE"], ...rows]);
}
