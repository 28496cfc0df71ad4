/**
 * Proposals of policies as those see them who write and publish policies.
 */

import { formatTimestamp } from "@countersign/protocol";
import type { ProposalPage } from "../../operations/policy/listProposals.ts";
import type { ProposalOutline, ReviewedProposal } from "../../operations/policy/reviewProposals.ts";
import { writeCursor } from "../shared/listing-parameters.ts";

function toWireProposal(reviewed: ReviewedProposal<ProposalOutline>): object {
  const { scope, proposal, names, isOutdated, refusal } = reviewed;
  const { id, baseNumber, sha256, note, restores, tests, proposedAt, proposedBy, end } = proposal;
  const proposer = names.get(proposedBy);
  const closer = end === null ? undefined : names.get(end.closedBy);
  return {
    id,
    scope,
    state: end?.outcome ?? (isOutdated ? "outdated" : "open"),
    base_number: baseNumber,
    sha256,
    ...(note !== null && { note }),
    ...(restores !== null && { restores }),
    tests,
    proposed_at: formatTimestamp(proposedAt),
    proposed_by: proposedBy,
    ...(proposer !== undefined && { proposer }),
    ...(refusal !== undefined && { refusal }),
    ...(end !== null && { closed_at: formatTimestamp(end.closedAt), closed_by: end.closedBy }),
    ...(closer !== undefined && { closer }),
    ...(end !== null && end.reason !== null && { reason: end.reason }),
  };
}

export function writeProposal(reviewed: ReviewedProposal): string {
  const { source, isIntact } = reviewed.proposal;
  const altered = isIntact ? {} : { altered: true };
  return JSON.stringify({ ...toWireProposal(reviewed), ...altered, source });
}

export function writeProposals({ proposals, next }: ProposalPage): string {
  const items = JSON.stringify(proposals.map(toWireProposal));
  return `{"proposals":${items},"next":${writeCursor(next)}}`;
}
