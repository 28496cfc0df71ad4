/**
 * Who must decide: merging what several rules ask for to the strictest. Judging approvers by what
 * came out is decider.ts.
 *
 * Promises: merging does not depend on order, and adding a requirement never makes the result
 * easier to meet.
 */

import {
  type Ask,
  type ConfirmationKind,
  type Evaluation,
  NO_REQUIREMENT,
  type Requirement,
} from "./rule.ts";

/** From the easiest to the hardest. */
const CONFIRMS: readonly ConfirmationKind["kind"][] = ["click", "type", "match", "passkey"];

/**
 * The strictest of all.
 *
 * @param requirements each of one rule, in the order of their rules' ids: of two texts to type the
 *   first is kept
 */
export function mergeRequirements(requirements: readonly Requirement[]): Requirement {
  const sets = mergeSets(requirements);
  const quorums = sets.map(({ quorum }) => quorum);
  return {
    ...requirements.reduce(stricter, NO_REQUIREMENT),
    from: sets.map(({ members }) => members),
    // Without a rule that asks, people decide.
    bots: requirements.length > 0 && requirements.every(({ bots }) => bots),
    // Of one set all approvers are, and the highest quorum counts them.
    ...(sets.length > 1 && quorums.some((quorum) => quorum > 1) && { quorums }),
  };
}

/** A part of a requirement, as the key of a rule that asks for it. */
export type RequirementPart =
  | ("from" | "quorum" | "exclude" | "confirm" | "note" | "within" | "grants")
  | ("bots" | "valid_for");

/** A requirement, with the longest validity that a reviewer may set. */
export interface DecisionTerms {
  readonly requirement: Requirement;
  readonly validityMs?: number | undefined;
}

/** In which parts two requirements differ; the order and repetition of names mean nothing. */
export function differingParts(
  left: DecisionTerms,
  right: DecisionTerms,
): readonly RequirementPart[] {
  const [one, other] = [partsOf(left), partsOf(right)];
  return (Object.keys(one) as RequirementPart[]).filter((part) => one[part] !== other[part]);
}

function partsOf({ requirement, validityMs }: DecisionTerms): Record<RequirementPart, string> {
  const { from, quorum, quorums = [], excludeOwner, confirm, noteRequired } = requirement;
  const { withinMs, grants } = requirement;
  const sets = from.map((set, index) => {
    return { members: [...new Set(set)].sort().join("\n"), quorum: quorums[index] ?? 1 };
  });
  sets.sort((a, b) => (a.members < b.members ? -1 : 1));
  return {
    from: JSON.stringify(sets.map(({ members }) => members)),
    quorum: JSON.stringify([quorum, sets.map((set) => set.quorum)]),
    exclude: String(excludeOwner),
    confirm: JSON.stringify([confirm.kind, confirm.kind === "type" ? confirm.text : ""]),
    note: String(noteRequired),
    within: String(withinMs),
    grants: String(grants),
    // Rows of before were written without it.
    bots: String(requirement.bots === true),
    valid_for: String(validityMs),
  };
}

/** Without the sets and the bots, which are not merged two by two. */
function stricter(left: Requirement, right: Requirement): Requirement {
  return {
    from: [],
    quorum: Math.max(left.quorum, right.quorum),
    excludeOwner: left.excludeOwner || right.excludeOwner,
    confirm: strength(right.confirm) > strength(left.confirm) ? right.confirm : left.confirm,
    noteRequired: left.noteRequired || right.noteRequired,
    withinMs: shortest(left.withinMs, right.withinMs),
    grants: left.grants && right.grants,
    bots: false,
  };
}

function strength(confirm: ConfirmationKind): number {
  return CONFIRMS.indexOf(confirm.kind);
}

function shortest(left: number | null, right: number | null): number | null {
  if (left === null || right === null) return left ?? right;
  return Math.min(left, right);
}

/**
 * Whether approvals by bots count for a call that was judged so: where policy met an error or a
 * number that cannot be held, people answer, whatever rules say.
 */
export function acceptsBotApprovals({
  requirement,
  errors,
  because,
}: Pick<Evaluation, "requirement" | "errors" | "because">): boolean {
  // A program of an earlier version kept none.
  return requirement.bots === true && errors.length === 0 && because !== "inexact";
}

interface CountedSet {
  readonly members: readonly string[];
  /** How many of its members its rule asks for. */
  readonly quorum: number;
}

/** Each set once, in an order of their own. */
function mergeSets(requirements: readonly Requirement[]): CountedSet[] {
  const sets = new Map<string, CountedSet>();
  for (const { from, quorum } of requirements) {
    for (const set of from) {
      const members = [...new Set(set)].sort();
      const key = members.join("\n");
      sets.set(key, { members, quorum: Math.max(quorum, sets.get(key)?.quorum ?? 1) });
    }
  }
  return [...sets.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, set]) => set);
}

/**
 * What one rule that asks asks for.
 *
 * @param text what `confirm: type(...)` says of the call, where that could be said
 */
export function requirementOfRule(ask: Ask | undefined, text: string | undefined): Requirement {
  if (ask === undefined) return NO_REQUIREMENT;
  return {
    from: ask.from === undefined ? [] : [ask.from],
    quorum: ask.quorum,
    excludeOwner: ask.excludeOwner,
    confirm: confirmOf(ask.confirm.kind, text),
    noteRequired: ask.noteRequired,
    withinMs: ask.withinMs,
    grants: ask.grants,
    bots: ask.bots,
  };
}

function confirmOf(kind: ConfirmationKind["kind"], text: string | undefined): ConfirmationKind {
  if (kind !== "type") return { kind };
  // What cannot be typed is confirmed in the next harder way.
  return text === undefined ? { kind: "match" } : { kind, text };
}
