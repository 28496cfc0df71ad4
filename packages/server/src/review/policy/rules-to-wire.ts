/** Converts rules and their usage to the reviewer API's form. */

import { formatDuration, formatTimestamp } from "@countersign/protocol";
import type { RuleOutline as WireRule, PolicyUsage as WireUsage } from "@countersign/review-api";
import type { PolicyUsage } from "../../operations/policy/showPolicyUsage.ts";
import type { AskOutline, RuleOutline } from "../../policy/outline.ts";

export function toWireRule(rule: RuleOutline): WireRule {
  return {
    id: rule.id,
    line: rule.line,
    verb: rule.verb,
    tools: listOf(rule.tools),
    servers: listOf(rule.servers),
    groups: listOf(rule.groups),
    instance_ids: listOf(rule.instanceIds),
    instance_names: listOf(rule.instanceNames),
    when: rule.when,
    note: rule.note,
    valid_for: rule.validityMs === undefined ? undefined : formatDuration(rule.validityMs),
    ask: rule.ask && toWireAsk(rule.ask),
  };
}

function toWireAsk(ask: AskOutline): NonNullable<WireRule["ask"]> {
  return {
    from: listOf(ask.from),
    quorum: ask.quorum,
    exclude_owner: ask.excludeOwner,
    confirm: ask.confirm,
    note_required: ask.noteRequired,
    within: ask.withinMs === null ? undefined : formatDuration(ask.withinMs),
  };
}

function listOf(values: readonly string[] | undefined): string[] | undefined {
  return values && [...values];
}

export function toWireUsage(usage: PolicyUsage): WireUsage {
  const { since, calls, isLimited, rules, tools, instances, groups } = usage;
  return {
    since: formatTimestamp(since),
    calls,
    limited: isLimited,
    rules: rules.map(({ id, fired, decided }) => ({ id, fired, decided })),
    tools: tools.map(({ tool, server, calls: count, fields }) => ({
      tool,
      server,
      calls: count,
      fields: fields.map((path) => [...path]),
    })),
    instances: [...instances],
    instance_groups: sorted(groups.instances),
    reviewer_groups: sorted(groups.reviewers),
    reviewers: sorted(groups.reviewerNames),
    schedules: sorted(groups.schedules),
  };
}

function sorted(names: ReadonlySet<string>): string[] {
  return [...names].sort();
}
