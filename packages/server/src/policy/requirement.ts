/**
 * Who must decide: merging what several rules ask for to the strictest. Judging approvers by what
 * came out is decider.ts.
 *
 * Called by: evaluate.ts.
 * Promises: merging does not depend on order, and adding a requirement never makes the result
 * easier to meet.
 */

import { type Confirm, NO_REQUIREMENT, type Requirement } from "./rule.ts";

/** From the easiest to the hardest. */
const CONFIRMS: readonly Confirm["kind"][] = ["click", "type", "match", "passkey"];

/**
 * The strictest of all.
 *
 * @param requirements in the order of their rules' ids: of two texts to type the first is kept
 */
export function mergeRequirements(requirements: readonly Requirement[]): Requirement {
  return requirements.reduce(stricter, NO_REQUIREMENT);
}

function stricter(left: Requirement, right: Requirement): Requirement {
  return {
    from: mergeSets(left.from, right.from),
    quorum: Math.max(left.quorum, right.quorum),
    excludeOwner: left.excludeOwner || right.excludeOwner,
    confirm: strength(right.confirm) > strength(left.confirm) ? right.confirm : left.confirm,
    noteRequired: left.noteRequired || right.noteRequired,
    withinMs: shortest(left.withinMs, right.withinMs),
    grants: left.grants && right.grants,
  };
}

function strength(confirm: Confirm): number {
  return CONFIRMS.indexOf(confirm.kind);
}

function shortest(left: number | null, right: number | null): number | null {
  if (left === null || right === null) return left ?? right;
  return Math.min(left, right);
}

type Sets = Requirement["from"];

/** Each set once, in an order of their own. */
function mergeSets(left: Sets, right: Sets): Sets {
  const sets = new Map<string, readonly string[]>();
  for (const set of [...left, ...right]) {
    const members = [...new Set(set)].sort();
    sets.set(members.join("\n"), members);
  }
  return [...sets.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, members]) => members);
}
