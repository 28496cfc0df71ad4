/**
 * Policies as those see them who write and publish them.
 */

import { formatTimestamp } from "@countersign/protocol";
import type { checkPolicy } from "../../operations/policy/checkPolicy.ts";
import type { PolicyVersionPage } from "../../operations/policy/listPolicyVersions.ts";
import type { PublishOutcome } from "../../operations/policy/putInForce.ts";
import type { PublishedOutline, PublishedPolicy } from "../../operations/policy/showPolicy.ts";
import type {
  ChangedRequest,
  SimulationEvent,
  SimulationSummary,
} from "../../operations/policy/simulatePolicy.ts";

function toWireOutline({ scope, version, names }: PublishedOutline): object {
  const { number, sha256, note, publishedAt, publishedBy, proposedBy } = version;
  const publisher = names.get(publishedBy);
  const proposer = proposedBy === null ? undefined : names.get(proposedBy);
  return {
    scope,
    number,
    sha256,
    ...(note !== null && { note }),
    published_at: formatTimestamp(publishedAt),
    published_by: publishedBy,
    ...(publisher !== undefined && { publisher }),
    ...(proposedBy !== null && { proposed_by: proposedBy }),
    ...(proposer !== undefined && { proposer }),
  };
}

/**
 * @param published undefined: nothing was published yet
 * @param isTwoPerson whether what is published next takes another person
 */
export function writePolicy(
  scope: PublishedPolicy["scope"],
  published: PublishedPolicy | undefined,
  isTwoPerson = false,
): string {
  const next = isTwoPerson ? { two_person: true } : {};
  if (published === undefined) return JSON.stringify({ scope, number: 0, ...next });
  const { source, isIntact } = published.version;
  const altered = isIntact ? {} : { altered: true };
  return JSON.stringify({ ...toWireOutline(published), ...next, ...altered, source });
}

export function writePublished(published: PublishOutcome): string {
  const { source } = published.version;
  const { outcome, warnings } = published;
  return JSON.stringify({ ...toWireOutline(published), source, outcome, warnings });
}

export function writeVersions({ versions, next }: PolicyVersionPage): string {
  return JSON.stringify({ versions: versions.map(toWireOutline), next: next ?? null });
}

export function writeCheck(check: Awaited<ReturnType<typeof checkPolicy>>): string {
  const { rules, findings, warnings, tests } = check;
  return JSON.stringify({ valid: findings.length === 0, rules, findings, warnings, tests });
}

/** One line of a simulation's answer. */
export function writeSimulationEvent(event: SimulationEvent): string {
  switch (event.kind) {
    case "started":
      return JSON.stringify({
        event: "started",
        since: formatTimestamp(event.since),
        until: formatTimestamp(event.until),
        total: event.total ?? null,
        floor_number: event.floorNumber,
        policy_number: event.projectNumber,
        groups: "as they are now",
      });
    case "progress": {
      const reached = formatTimestamp(event.reached);
      return JSON.stringify({ event: "progress", replayed: event.replayed, reached });
    }
    case "changed":
      return writeChange(event.change);
    case "ended":
      return JSON.stringify({ event: "summary", ...toWireSummary(event.summary) });
  }
}

function toWireSummary(summary: SimulationSummary): object {
  const { requirementChanged, unreadable, unreadableIds, ended, ...counts } = summary;
  return {
    ...counts,
    requirement_changed: requirementChanged,
    unreadable,
    unreadable_ids: unreadableIds,
    ended,
  };
}

function writeChange({ request, instanceName, was, draft, differs }: ChangedRequest): string {
  const { id, instanceId, tool, createdAt, status, decision } = request;
  const rest = JSON.stringify({
    created_at: formatTimestamp(createdAt),
    was,
    would_be: draft.verb,
    ...(differs.length > 0 && { differs }),
    because: draft.because,
    rules: draft.fired,
    errors: draft.errors,
    status,
    ...(decision !== null && { decided_by: decision.decidedBy }),
  });
  const instance = `{"id":"${instanceId}","name":${instanceName}}`;
  // Texts of strangers are JSON as it was written, and stay so.
  return `{"event":"changed","id":"${id}","tool":${tool},"instance":${instance},${rest.slice(1)}`;
}
