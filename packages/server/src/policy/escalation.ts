/**
 * Escalation: groups that may decide too while a request stays undecided.
 *
 * Guarantees: a step only adds a group to the sets of its own rule. It changes neither the number
 * of approvals nor the deadline, and a set that another rule requires too stays as strict as that
 * rule.
 */

import type { Escalation, EscalationStep, Requirement } from "./rule.ts";

/** One set of a merged requirement, with the steps of every rule that requires it. */
export interface EscalatedSet {
  readonly members: readonly string[];
  /** One list for each rule. */
  readonly steps: readonly (readonly EscalationStep[])[];
}

/**
 * The steps of a merged requirement, by their time.
 *
 * @param sets in the order of `from`
 * @param unlimited steps of rules without `from`, which matter only when no rule has `from`
 */
export function mergeEscalations(
  sets: readonly EscalatedSet[],
  unlimited: readonly EscalationStep[],
): readonly Escalation[] {
  if (sets.length === 0) return sortSteps(earliestSteps(unlimited));
  const merged = new Map<string, Escalation>();
  for (const [index, set] of sets.entries()) {
    for (const step of commonSteps(set)) {
      const key = `${step.afterMs} ${step.to}`;
      const widens = [...(merged.get(key)?.widens ?? []), index];
      merged.set(key, { ...step, widens });
    }
  }
  return sortSteps([...merged.values()]);
}

/** A step widens a set only if every rule with this set has it, from the latest of their times. */
function commonSteps({ members, steps }: EscalatedSet): readonly EscalationStep[] {
  const [first = [], ...others] = steps;
  const common: EscalationStep[] = [];
  for (const { to, afterMs } of first) {
    if (members.includes(to)) continue;
    const times = others.map((list) => list.find((step) => step.to === to)?.afterMs);
    const known = times.filter((time) => time !== undefined);
    if (known.length < times.length) continue;
    common.push({ afterMs: Math.max(afterMs, ...known), to });
  }
  return common;
}

/** Every group once: these steps only announce the request. */
function earliestSteps(steps: readonly EscalationStep[]): readonly Escalation[] {
  const earliest = new Map<string, Escalation>();
  for (const { afterMs, to } of steps) {
    const known = earliest.get(to);
    if (known === undefined || afterMs < known.afterMs) {
      earliest.set(to, { afterMs, to, widens: [] });
    }
  }
  return [...earliest.values()];
}

function sortSteps(steps: readonly Escalation[]): readonly Escalation[] {
  return [...steps].sort((a, b) => a.afterMs - b.afterMs || (a.to < b.to ? -1 : 1));
}

/**
 * The requirement after its first steps were applied.
 *
 * @param added of each applied step: its group, or the reviewers who were on call
 */
export function widenRequirement(
  requirement: Requirement,
  added: readonly (readonly string[])[],
): Requirement {
  const steps = requirement.escalate?.slice(0, added.length) ?? [];
  if (steps.length === 0) return requirement;
  const from = requirement.from.map((set, index) => {
    const members = steps.flatMap(({ widens }, step) =>
      widens.includes(index) ? (added[step] ?? []) : [],
    );
    return [...new Set([...set, ...members])];
  });
  return { ...requirement, from };
}

const ON_CALL = /^oncall:(.+)$/;

/** @returns the name of the schedule; undefined for a step to a group */
export function scheduleOf({ to }: Pick<EscalationStep, "to">): string | undefined {
  return ON_CALL.exec(to)?.[1];
}
