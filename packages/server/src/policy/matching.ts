/** Selects the rules that apply to a call, without evaluating conditions. */

import { RecentlyUsed } from "../recently-used.ts";
import { matchesGlob } from "./glob.ts";
import type { HistoryQuery } from "./history.ts";
import { Meter } from "./meter.ts";
import type { Call, Match, Policy, Rule, Verb } from "./rule.ts";
import {
  type CallNames,
  namesForApproval,
  namesForRestriction,
  namesOfCall,
  possibleNames,
  type ToolName,
} from "./tool-names.ts";

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

/** A rule that applies to a call. */
export interface MatchingRule extends QualifiedRule {
  /** The names by which it matches the tool of the call. */
  readonly names: readonly string[];
}

interface RuleIndex {
  /** Rules that list all their tools by name, by each name. */
  readonly byTool: ReadonlyMap<string, readonly QualifiedRule[]>;
  readonly others: readonly QualifiedRule[];
  /** Rules with history queries. */
  readonly usingHistory: readonly QualifiedRule[];
  /** Results of {@link rulesMatchingTool}, by server and tool. */
  readonly fitting: RecentlyUsed<string, readonly MatchingRule[]>;
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
  tool: ToolName,
): readonly QualifiedRule[] {
  return candidatesOf(indexFor(policy, prefix), namesOfCall(tool));
}

/** The rules with matching tools and servers, in order. */
export function rulesMatchingTool(
  policy: Policy,
  prefix: string,
  tool: ToolName,
  meter: Meter,
): readonly MatchingRule[] {
  const index = indexFor(policy, prefix);
  const key = keyOf(tool);
  const known = index.fitting.get(key);
  if (known !== undefined) return known;
  const found: MatchingRule[] = [];
  const call = namesOfCall(tool);
  for (const qualified of candidatesOf(index, call)) {
    const names = namesOf(qualified.rule, call, meter);
    if (names.length > 0) found.push({ ...qualified, names });
  }
  found.sort(compareEvaluationOrder);
  if (key.length <= KEPT_TOOL_CHARS_MAX) index.fitting.set(key, found);
  return found;
}

/** Different for every server and tool, also where names contain separators. */
function keyOf({ tool, server }: ToolName): string {
  return server === undefined ? `0${tool}` : `1${server.length} ${server}${tool}`;
}

/**
 * History queries of the rules that may apply to a tool. Includes those of all applicable rules,
 * and possibly others.
 */
export function historyQueriesFor(
  policy: Policy,
  prefix: string,
  tool: ToolName,
): readonly HistoryQuery[] {
  const { usingHistory } = indexFor(policy, prefix);
  if (usingHistory.length === 0) return [];
  const call = namesOfCall(tool);
  return usingHistory.filter(({ rule }) => mayFit(rule, call)).flatMap(({ rule }) => rule.history);
}

/** False only for tools that certainly do not match. */
function mayFit(rule: Rule, call: CallNames): boolean {
  try {
    return namesOf(rule, call, new Meter(MATCH_STEPS_MAX)).length > 0;
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

function candidatesOf({ byTool, others }: RuleIndex, call: CallNames): readonly QualifiedRule[] {
  if (byTool.size === 0) return others;
  const found = new Set(others);
  for (const name of possibleNames(call)) {
    for (const rule of byTool.get(name) ?? []) found.add(rule);
  }
  return [...found];
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

/** The names by which the rule matches the call; empty: it does not apply. */
export function namesMatching(rule: Rule, call: Call, meter: Meter): readonly string[] {
  return matchesInstance(rule.match, call, meter) ? namesOf(rule, namesOfCall(call), meter) : [];
}

/** True when the rule applies to the instance, for any tool. */
export function matchesInstance(match: Match, { instance }: Call, meter: Meter): boolean {
  meter.spend(1);
  const { groups, instanceIds, instanceNames } = match;
  if (instanceIds !== undefined && !instanceIds.has(instance.id)) return false;
  if (groups !== undefined && !instance.groups.some((group) => groups.has(group))) return false;
  return instanceNames?.some((glob) => matchesGlob(glob, instance.name, meter)) ?? true;
}

/** The names by which the rule matches a tool, of any instance. */
function namesOf({ match, verb }: Rule, call: CallNames, meter: Meter): readonly string[] {
  const { tools, servers } = match;
  const fitsServer =
    servers === undefined
      ? undefined
      : (server: string) => servers.some((glob) => matchesGlob(glob, server, meter));
  const patterns = { tools, fitsServer };
  return verb === "approve"
    ? namesForApproval(call, patterns, meter)
    : namesForRestriction(call, patterns, meter);
}
