/**
 * Which rules apply to a call, without looking at those that cannot.
 *
 * Called by: evaluate.ts.
 */

import { fitsGlob } from "./glob.ts";
import type { Meter } from "./meter.ts";
import type { Call, Match, Policy, Rule, Verb } from "./rule.ts";

/** A rule with the name it has outside its policy. */
export interface PlacedRule {
  readonly rule: Rule;
  /** A rule of the floor is `floor/ID`. */
  readonly id: string;
}

const RANKS: Readonly<Record<Verb, number>> = { deny: 0, ask: 1, approve: 2 };

/** The one order in which rules are looked at, wherever they stand in their files. */
export function inOrder(left: PlacedRule, right: PlacedRule): number {
  const ranks = RANKS[left.rule.verb] - RANKS[right.rule.verb];
  if (ranks !== 0) return ranks;
  return left.id < right.id ? -1 : 1;
}

interface RuleIndex {
  /** Rules that name every tool they apply to, by each of those names. */
  readonly byTool: ReadonlyMap<string, readonly PlacedRule[]>;
  readonly others: readonly PlacedRule[];
}

/** A policy is immutable, and so is its index. */
const indexes = new WeakMap<Policy, RuleIndex>();

/** The rules that may apply to a tool: all that do, and few that do not. */
export function candidates(policy: Policy, prefix: string, tool: string): readonly PlacedRule[] {
  let index = indexes.get(policy);
  if (index === undefined) {
    index = indexOf(policy, prefix);
    indexes.set(policy, index);
  }
  const named = index.byTool.get(tool);
  return named === undefined ? index.others : [...index.others, ...named];
}

function indexOf(policy: Policy, prefix: string): RuleIndex {
  const byTool = new Map<string, PlacedRule[]>();
  const others: PlacedRule[] = [];
  for (const rule of policy.rules) {
    const placed = { rule, id: prefix + rule.id };
    const names = rule.match.tools?.map(({ literal }) => literal);
    if (names === undefined || names.includes(undefined)) {
      others.push(placed);
      continue;
    }
    for (const name of new Set(names)) {
      const same = byTool.get(name ?? "");
      if (same === undefined) byTool.set(name ?? "", [placed]);
      else same.push(placed);
    }
  }
  return { byTool, others };
}

/** Whether the rule applies. */
export function matches(match: Match, { tool, instance }: Call, meter: Meter): boolean {
  meter.spend(1);
  const { tools, groups, instanceIds, instanceNames } = match;
  if (instanceIds !== undefined && !instanceIds.has(instance.id)) return false;
  if (groups !== undefined && !instance.groups.some((group) => groups.has(group))) return false;
  if (tools !== undefined && !tools.some((glob) => fitsGlob(glob, tool, meter))) return false;
  return instanceNames?.some((glob) => fitsGlob(glob, instance.name, meter)) ?? true;
}
