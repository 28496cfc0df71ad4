/** Selects the rules that apply to a call, without evaluating conditions. */

import { RecentlyUsed } from "../recently-used.ts";
import { matchesGlob } from "./glob.ts";
import type { HistoryQuery } from "./history.ts";
import { Meter } from "./meter.ts";
import type { Call, Match, Policy, Rule, Verb } from "./rule.ts";

/** A rule with an id that is unique over all policies. */
export interface QualifiedRule {
  readonly rule: Rule;
  /** A baseline rule is `floor/ID`. */
  readonly id: string;
}

const RANKS: Readonly<Record<Verb, number>> = { deny: 0, ask: 1, approve: 2 };

/** Evaluation order, independent of the order in the files. */
export function compareEvaluationOrder(left: QualifiedRule, right: QualifiedRule): number {
  const ranks = RANKS[left.rule.verb] - RANKS[right.rule.verb];
  if (ranks !== 0) return ranks;
  return left.id < right.id ? -1 : 1;
}

interface RuleIndex {
  /** Rules that list all their tools by name, by each name. */
  readonly byTool: ReadonlyMap<string, readonly QualifiedRule[]>;
  readonly others: readonly QualifiedRule[];
  /** Rules with history queries. */
  readonly usingHistory: readonly QualifiedRule[];
  /** Results of {@link rulesMatchingTool}, by tool. */
  readonly fitting: RecentlyUsed<string, readonly QualifiedRule[]>;
}

/** Agents have few tools. Invented names cost the matching in every call. */
const TOOLS_KEPT_MAX = 256;
const KEPT_TOOL_CHARS_MAX = 256;

/** Steps for matching one rule. */
const MATCH_STEPS_MAX = 10_000;

/** By prefix. A policy is immutable, and so is its index. */
const indexes = new Map<string, WeakMap<Policy, RuleIndex>>();

/** The rules that may apply to a tool: all applicable ones, and few others. */
export function candidateRules(
  policy: Policy,
  prefix: string,
  tool: string,
): readonly QualifiedRule[] {
  return candidatesOf(indexFor(policy, prefix), tool);
}

/** The rules with matching tools, in order. */
export function rulesMatchingTool(
  policy: Policy,
  prefix: string,
  tool: string,
  meter: Meter,
): readonly QualifiedRule[] {
  const index = indexFor(policy, prefix);
  const known = index.fitting.get(tool);
  if (known !== undefined) return known;
  const fits = ({ rule: { match } }: QualifiedRule) => fitsTool(match, tool, meter);
  const found = candidatesOf(index, tool).filter(fits).sort(compareEvaluationOrder);
  if (tool.length <= KEPT_TOOL_CHARS_MAX) index.fitting.set(tool, found);
  return found;
}

/**
 * History queries of the rules that may apply to a tool. Includes those of all applicable rules,
 * and possibly others.
 */
export function historyQueriesFor(
  policy: Policy,
  prefix: string,
  tool: string,
): readonly HistoryQuery[] {
  const { usingHistory } = indexFor(policy, prefix);
  if (usingHistory.length === 0) return [];
  return usingHistory
    .filter(({ rule }) => mayFit(rule.match, tool))
    .flatMap(({ rule }) => rule.history);
}

/** False only for tools that certainly do not match. */
function mayFit({ tools }: Match, tool: string): boolean {
  const meter = new Meter(MATCH_STEPS_MAX);
  try {
    return tools?.some((glob) => matchesGlob(glob, tool, meter)) ?? true;
  } catch {
    return true;
  }
}

function indexFor(policy: Policy, prefix: string): RuleIndex {
  const known = indexes.get(prefix) ?? new WeakMap<Policy, RuleIndex>();
  indexes.set(prefix, known);
  const index = known.get(policy) ?? indexOf(policy, prefix);
  known.set(policy, index);
  return index;
}

function candidatesOf({ byTool, others }: RuleIndex, tool: string): readonly QualifiedRule[] {
  const named = byTool.get(tool);
  return named === undefined ? others : [...others, ...named];
}

function indexOf(policy: Policy, prefix: string): RuleIndex {
  const byTool = new Map<string, QualifiedRule[]>();
  const others: QualifiedRule[] = [];
  const usingHistory: QualifiedRule[] = [];
  for (const rule of policy.rules) {
    const qualified = { rule, id: prefix + rule.id };
    if (rule.history.length > 0) usingHistory.push(qualified);
    const names = rule.match.tools?.map(({ literal }) => literal);
    if (names === undefined || names.includes(undefined)) {
      others.push(qualified);
      continue;
    }
    for (const name of new Set(names)) {
      const same = byTool.get(name ?? "");
      if (same === undefined) byTool.set(name ?? "", [qualified]);
      else same.push(qualified);
    }
  }
  return { byTool, others, usingHistory, fitting: new RecentlyUsed(TOOLS_KEPT_MAX) };
}

/** True when the rule applies. */
export function matches(match: Match, call: Call, meter: Meter): boolean {
  return matchesCaller(match, call, meter) && fitsTool(match, call.tool, meter);
}

/** True when the rule applies to the instance and server, for any tool. */
export function matchesCaller(match: Match, { instance, server }: Call, meter: Meter): boolean {
  meter.spend(1);
  if (!fitsServer(match, server, meter)) return false;
  const { groups, instanceIds, instanceNames } = match;
  if (instanceIds !== undefined && !instanceIds.has(instance.id)) return false;
  if (groups !== undefined && !instance.groups.some((group) => groups.has(group))) return false;
  return instanceNames?.some((glob) => matchesGlob(glob, instance.name, meter)) ?? true;
}

function fitsServer({ servers }: Match, server: string | undefined, meter: Meter): boolean {
  if (servers === undefined) return true;
  if (server === undefined) return servers.length === 0;
  return servers.some((glob) => matchesGlob(glob, server, meter));
}

function fitsTool({ tools }: Match, tool: string, meter: Meter): boolean {
  meter.spend(1);
  return tools?.some((glob) => matchesGlob(glob, tool, meter)) ?? true;
}
