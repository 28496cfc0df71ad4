/**
 * Finds rules that certainly never decide: a rule without a condition overrides all of their calls,
 * or their own condition is never true. Simple facts prove each finding, so other rules may be
 * unreachable too.
 */

import { findContradiction } from "./contradiction.ts";
import { coversMatch } from "./match-subset.ts";
import type { Match, Rule } from "./rule.ts";

/** Pairs of patterns to compare at most. The search in a larger policy is incomplete. */
const COMPARISONS_MAX = 1_000_000;

export interface UnreachableRule {
  readonly rule: Rule;
  readonly reason: string;
}

export function findUnreachable(rules: readonly Rule[]): readonly UnreachableRule[] {
  const unconditional = rules.filter(({ verb, when }) => verb !== "approve" && when === undefined);
  const found: UnreachableRule[] = [];
  let left = COMPARISONS_MAX;
  for (const rule of rules) {
    const path = rule.when && findContradiction(rule.when.expression);
    if (path !== undefined) {
      found.push({ rule, reason: `the condition is never true: see the values of \`${path}\`` });
      continue;
    }
    for (const other of unconditional) {
      if (!isOverriding(other, rule)) continue;
      left -= sizeOf(rule.match) * sizeOf(other.match);
      if (left < 0) return found;
      if (!coversMatch(other.match, rule.match)) continue;
      found.push({ rule, reason: overriddenBy(other) });
      break;
    }
  }
  return found;
}

function isOverriding(other: Rule, rule: Rule): boolean {
  if (rule.verb === "approve") return other.verb !== "approve";
  return rule.verb === "ask" && other.verb === "deny";
}

function overriddenBy({ id, line, verb }: Rule): string {
  const does = verb === "deny" ? "denies" : "asks for";
  return `this rule never decides: \`${id}\` on line ${line} ${does} all calls that it matches`;
}

function sizeOf({ tools, servers, groups, instanceIds, instanceNames }: Match): number {
  const lengths = [tools, servers, instanceNames].map((globs) => globs?.length ?? 0);
  const sizes = [groups, instanceIds].map((names) => names?.size ?? 0);
  return [...lengths, ...sizes].reduce((sum, each) => sum + each, 1);
}
