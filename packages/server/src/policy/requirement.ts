/**
 * Merges the requirements of several rules to the strictest. decider.ts evaluates the result.
 *
 * Guarantees: the order has no effect, and adding a requirement never makes the result easier to
 * meet.
 */

import { type EscalatedSet, mergeEscalations } from "./escalation.ts";
import { commonPlaces } from "./place.ts";
import {
  type Ask,
  type ConfirmationKind,
  type EscalationStep,
  type Evaluation,
  NO_REQUIREMENT,
  type Requirement,
} from "./rule.ts";

/** From the easiest to the hardest. */
const CONFIRMS: readonly ConfirmationKind["kind"][] = ["click", "type", "match", "passkey"];

/**
 * The strictest of all requirements.
 *
 * @param requirements one of each rule, ordered by rule id; the first of two texts to type is used
 */
export function mergeRequirements(requirements: readonly Requirement[]): Requirement {
  const sets = mergeSets(requirements);
  const quorums = sets.map(({ quorum }) => quorum);
  const escalate = mergeEscalations(
    sets,
    requirements.flatMap((one) => (one.from.length === 0 ? (one.escalate ?? []) : [])),
  );
  return {
    ...requirements.reduce(stricter, NO_REQUIREMENT),
    from: sets.map(({ members }) => members),
    // Without a rule with `ask`, people decide.
    bots: requirements.length > 0 && requirements.every(({ bots }) => bots),
    // With one set, all approvers are members of it, and the highest quorum counts them.
    ...(sets.length > 1 && quorums.some((quorum) => quorum > 1) && { quorums }),
    ...(escalate.length > 0 && { escalate }),
  };
}

/** A part of a requirement, named by the key in `ask`. */
export type RequirementPart =
  | ("from" | "quorum" | "exclude" | "confirm" | "note" | "within" | "grants")
  | ("bots" | "valid_for" | "channels" | "escalate");

/** A requirement, with the longest validity that a reviewer may set. */
export interface DecisionTerms {
  readonly requirement: Requirement;
  readonly validityMs?: number | undefined;
}

/** The parts in which two requirements differ, regardless of the order and repetition of names. */
export function differingParts(
  left: DecisionTerms,
  right: DecisionTerms,
): readonly RequirementPart[] {
  const [one, other] = [partsOf(left), partsOf(right)];
  return (Object.keys(one) as RequirementPart[]).filter((part) => one[part] !== other[part]);
}

function partsOf({ requirement, validityMs }: DecisionTerms): Record<RequirementPart, string> {
  const { from, quorum, quorums = [], excludeOwner, confirm, noteRequired } = requirement;
  const { withinMs, grants, channels, escalate = [] } = requirement;
  const sets = from.map((set, index) => {
    return { members: [...new Set(set)].sort().join("\n"), quorum: quorums[index] ?? 1 };
  });
  const steps = escalate.map(({ afterMs, to, widens }) => {
    const members = widens.map((index) => sets[index]?.members);
    return JSON.stringify([afterMs, to, members.sort()]);
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
    // Older rows lack this field.
    bots: String(requirement.bots === true),
    valid_for: String(validityMs),
    channels: JSON.stringify(channels && [...channels].sort()) ?? "",
    escalate: JSON.stringify(steps.sort()),
  };
}

/** Without sets and bots, which are not merged pairwise. */
function stricter(left: Requirement, right: Requirement): Requirement {
  const channels = commonPlaces(left.channels, right.channels);
  return {
    from: [],
    quorum: Math.max(left.quorum, right.quorum),
    excludeOwner: left.excludeOwner || right.excludeOwner,
    confirm: strength(right.confirm) > strength(left.confirm) ? right.confirm : left.confirm,
    noteRequired: left.noteRequired || right.noteRequired,
    withinMs: shortest(left.withinMs, right.withinMs),
    grants: left.grants && right.grants,
    bots: false,
    ...(channels !== undefined && { channels }),
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
 * True when approvals by bots count. After a policy error or an inexact number, only people may
 * approve, regardless of rules.
 */
export function acceptsBotApprovals({
  requirement,
  errors,
  because,
}: Pick<Evaluation, "requirement" | "errors" | "because">): boolean {
  // Earlier versions stored no errors.
  return requirement.bots === true && errors.length === 0 && because !== "inexact";
}

interface CountedSet extends EscalatedSet {
  /** How many members the rule requires. */
  readonly quorum: number;
}

/** Each set once, sorted. */
function mergeSets(requirements: readonly Requirement[]): CountedSet[] {
  const sets = new Map<string, CountedSet>();
  for (const { from, quorum, escalate = [] } of requirements) {
    for (const [index, set] of from.entries()) {
      const members = [...new Set(set)].sort();
      const key = members.join("\n");
      const known = sets.get(key);
      const own: readonly EscalationStep[] = escalate.filter(({ widens }) => {
        return widens.includes(index);
      });
      sets.set(key, {
        members,
        quorum: Math.max(quorum, known?.quorum ?? 1),
        steps: [...(known?.steps ?? []), own],
      });
    }
  }
  return [...sets.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, set]) => set);
}

/**
 * The requirement of one rule with `ask`.
 *
 * @param text result of `confirm: type(...)` for the call; undefined after a fault
 */
export function requirementOfRule(ask: Ask | undefined, text: string | undefined): Requirement {
  if (ask === undefined) return NO_REQUIREMENT;
  const widens = ask.from === undefined ? [] : [0];
  return {
    from: ask.from === undefined ? [] : [ask.from],
    quorum: ask.quorum,
    excludeOwner: ask.excludeOwner,
    confirm: confirmOf(ask.confirm.kind, text),
    noteRequired: ask.noteRequired,
    withinMs: ask.withinMs,
    grants: ask.grants,
    bots: ask.bots,
    ...(ask.channels !== undefined && { channels: ask.channels }),
    ...(ask.escalate.length > 0 && {
      escalate: ask.escalate.map((step) => ({ ...step, widens })),
    }),
  };
}

function confirmOf(kind: ConfirmationKind["kind"], text: string | undefined): ConfirmationKind {
  if (kind !== "type") return { kind };
  // Without a text to type, the next harder confirmation applies.
  return text === undefined ? { kind: "match" } : { kind, text };
}
