/**
 * Who must decide: merging what several rules ask for to the strictest, and judging approvers by
 * what came out.
 *
 * Called by: evaluate.ts for the merging; the operations that record what reviewers decide.
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

/** A person who wants to approve, as the requirement sees them. */
export interface Approver {
  /** The reviewer's own name, as in `reviewer:NAME`. */
  readonly name: string;
  /** Groups they belong to, as in `group:NAME`. */
  readonly groups: readonly string[];
  /** Whether they own the instance; undefined: it is not known, and then it is not assumed. */
  readonly isOwner: boolean | undefined;
}

/**
 * Why somebody may not decide: they own the instance, nobody knows whether they do, or the rules
 * ask for others.
 */
export type Refusal = "owner" | "owner-unknown" | "not-asked";

/** @returns undefined when they may decide */
export function refusal(requirement: Requirement, approver: Approver): Refusal | undefined {
  if (requirement.excludeOwner && approver.isOwner !== false) {
    return approver.isOwner === true ? "owner" : "owner-unknown";
  }
  const { from } = requirement;
  return from.length === 0 || from.some((set) => isOf(set, approver)) ? undefined : "not-asked";
}

/** Whether this person's decision counts. */
export function permits(requirement: Requirement, approver: Approver): boolean {
  return refusal(requirement, approver) === undefined;
}

/**
 * Whether these approvals are enough: as many distinct people as the quorum asks for, and among
 * them somebody of every set. Who is not permitted does not count.
 */
export function isMet(requirement: Requirement, approvers: readonly Approver[]): boolean {
  const permitted = approvers.filter((approver) => permits(requirement, approver));
  const names = new Set(permitted.map(({ name }) => name));
  if (names.size < Math.max(requirement.quorum, 1)) return false;
  return requirement.from.every((set) => permitted.some((approver) => isOf(set, approver)));
}

function isOf(set: readonly string[], { name, groups }: Approver): boolean {
  return set.includes(`reviewer:${name}`) || groups.some((group) => set.includes(`group:${group}`));
}
