/** Converts policies, proposals and simulations to the reviewer API's form. */

import { formatTimestamp } from "@countersign/protocol";
import {
  JsonText,
  type PolicyOutline,
  type PolicyProposal,
  type PublishedPolicy,
  type ShownPolicy,
  type SimulationEvent,
  type RuleSuggestions as WireSuggestions,
  type Writable,
  type ProposalOutline as WrittenOutline,
} from "@countersign/review-api";
import type { ProposalOutline, ReviewedProposal } from "../../operations/policy/listProposals.ts";
import type { PublishOutcome } from "../../operations/policy/publishPolicy.ts";
import type {
  PublishedPolicy as Published,
  PublishedOutline,
} from "../../operations/policy/showPolicy.ts";
import type {
  ChangedRequest,
  SimulationEvent as Simulated,
} from "../../operations/policy/simulatePolicy.ts";
import type { RuleSuggestions } from "../../operations/policy/suggestRules.ts";

export function toWireOutline({ scope, version, names }: PublishedOutline): PolicyOutline {
  const { publishedBy, proposedBy } = version;
  return {
    scope,
    number: version.number,
    sha256: version.sha256,
    note: version.note ?? undefined,
    published_at: formatTimestamp(version.publishedAt),
    published_by: publishedBy,
    publisher: names.get(publishedBy),
    proposed_by: proposedBy ?? undefined,
    proposer: proposedBy === null ? undefined : names.get(proposedBy),
  };
}

/**
 * @param published undefined when no version is published
 * @param isTwoPerson true when another user must publish the next version
 */
export function toWirePolicy(
  scope: Published["scope"],
  published: Published | undefined,
  isTwoPerson: boolean,
): ShownPolicy {
  const two_person = isTwoPerson || undefined;
  if (published === undefined) return { scope, number: 0, two_person };
  const { source, isIntact } = published.version;
  return { ...toWireOutline(published), two_person, altered: !isIntact || undefined, source };
}

export function toWirePublished(published: PublishOutcome): PublishedPolicy {
  const { outcome, warnings, version } = published;
  return {
    ...toWireOutline(published),
    source: version.source,
    outcome,
    warnings: [...warnings],
  };
}

export function toWireProposalOutline(reviewed: ReviewedProposal<ProposalOutline>): WrittenOutline {
  const { scope, proposal, names, isOutdated, refusal } = reviewed;
  const { note, restores, proposedBy, end } = proposal;
  return {
    id: proposal.id,
    scope,
    state: end?.outcome ?? (isOutdated ? "outdated" : "open"),
    base_number: proposal.baseNumber,
    sha256: proposal.sha256,
    note: note ?? undefined,
    restores: restores ?? undefined,
    tests: proposal.tests,
    proposed_at: formatTimestamp(proposal.proposedAt),
    proposed_by: proposedBy,
    proposer: names.get(proposedBy),
    refusal,
    closed_at: end === null ? undefined : formatTimestamp(end.closedAt),
    closed_by: end?.closedBy,
    closer: end === null ? undefined : names.get(end.closedBy),
    reason: end?.reason ?? undefined,
  };
}

export function toWireProposal(reviewed: ReviewedProposal): PolicyProposal {
  const { source, isIntact } = reviewed.proposal;
  return { ...toWireProposalOutline(reviewed), altered: !isIntact || undefined, source };
}

/** One line of a simulation's answer. */
export function toWireSimulation(event: Simulated): Writable<SimulationEvent> {
  switch (event.kind) {
    case "started":
      return {
        event: "started",
        since: formatTimestamp(event.since),
        until: formatTimestamp(event.until),
        total: event.total ?? null,
        floor_number: event.floorNumber,
        policy_number: event.projectNumber,
        groups: "as they are now",
      };
    case "progress": {
      const { replayed, reached } = event;
      return { event: "progress", replayed, reached: formatTimestamp(reached) };
    }
    case "changed":
      return toWireChange(event.change);
    case "ended": {
      const { summary } = event;
      return {
        event: "summary",
        replayed: summary.replayed,
        unchanged: summary.unchanged,
        changes: summary.changes,
        errors: summary.errors,
        requirement_changed: summary.requirementChanged,
        unreadable: summary.unreadable,
        unreadable_ids: summary.unreadableIds,
        ended: summary.ended,
      };
    }
  }
}

function toWireChange({
  request,
  instanceName,
  was,
  draft,
  differs,
}: ChangedRequest): Writable<SimulationEvent> {
  const { id, instanceId, tool, server, createdAt, status, decision } = request;
  return {
    event: "changed",
    id,
    tool: new JsonText(tool),
    server: server === null ? undefined : new JsonText(server),
    instance: { id: instanceId, name: new JsonText(instanceName) },
    created_at: formatTimestamp(createdAt),
    was,
    would_be: draft.verb,
    differs: differs.length === 0 ? undefined : differs,
    because: draft.because,
    rules: draft.fired,
    errors: draft.errors,
    status,
    decided_by: decision?.decidedBy,
  };
}

export function toWireSuggestions(found: RuleSuggestions): Writable<WireSuggestions> {
  return {
    suggestions: found.suggestions.map(({ instanceId, instanceName, ...suggestion }) => ({
      tool: suggestion.tool,
      server: suggestion.server,
      instance: { id: instanceId, name: new JsonText(instanceName) },
      approvals: suggestion.approvals,
      answered: suggestion.answered,
      questions: suggestion.questions,
      rule: suggestion.rule.join("\n"),
      source: suggestion.source,
    })),
    base_number: found.baseNumber,
    looked_at: found.scannedCount,
    complete: found.isComplete,
  };
}
