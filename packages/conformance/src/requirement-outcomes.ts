/** What the outcomes of scenarios say about the requirements. */

import { REQUIREMENTS, type Requirement } from "./contract/index.ts";
import type { RequirementOutcome, ScenarioOutcome } from "./report.ts";
import type { Scenario } from "./scenario.ts";
import { SCENARIOS } from "./scenarios/index.ts";

/** What a run was about. */
export interface Scope {
  readonly outcomes: readonly ScenarioOutcome[];
  /** Of the run. */
  readonly scenarios: readonly Scenario[];
  /** The mode of those that do not apply to the provider. */
  readonly otherMode: Scenario["mode"];
}

/**
 * A rule is failed when it was seen broken anywhere; it is passed when all that try it passed. A
 * rule of every answer, or of every message, is passed when no other one was seen.
 */
export function judgeRequirements(scope: Scope): RequirementOutcome[] {
  return REQUIREMENTS.map((requirement) => judge(requirement, scope));
}

function judge(requirement: Requirement, scope: Scope): RequirementOutcome {
  const { id, source, text, check, untestable } = requirement;
  const citing = scope.outcomes.filter(({ requirements }) => requirements.includes(id));
  const found = { id, source, text, scenarios: citing.map((outcome) => outcome.id) };
  if (untestable !== undefined) return { ...found, outcome: "untestable", reason: untestable };
  const broken = scope.outcomes.find(({ violated }) => violated === id);
  if (broken !== undefined) {
    return { ...found, outcome: "failed", reason: `${broken.id}: ${broken.reason}` };
  }
  // One that failed for another rule, or for none, has not tested this one.
  const applicable = citing.filter(({ outcome }) => outcome !== "not_applicable");
  const open = applicable.find(({ outcome }) => outcome !== "passed");
  if (open !== undefined) {
    return { ...found, outcome: "not_tested", reason: `${open.id}: ${open.reason}` };
  }
  if (applicable.length === 0 && citing[0] !== undefined) {
    return { ...found, outcome: "not_applicable", reason: `${citing[0].reason}` };
  }
  const isSeen = citing.length > 0 || isCounted(check, scope);
  if (isSeen) return { ...found, outcome: "passed" };
  if (!applies(requirement, scope)) {
    return { ...found, outcome: "not_applicable", reason: "it is for providers of the other mode" };
  }
  return { ...found, outcome: "not_tested", reason: "no scenario of this run tries it" };
}

/** Whether something was held against a rule that no scenario names. */
function isCounted(check: Requirement["check"], { outcomes, scenarios }: Scope): boolean {
  const passed = new Set(
    outcomes.filter(({ outcome }) => outcome === "passed").map(({ id }) => id),
  );
  if (check === "every answer") return passed.size > 0;
  if (check !== "every message") return false;
  return scenarios.some(({ id, needs }) => passed.has(id) && needs.includes("receiver"));
}

/** Not, when all that would try it are for providers of the other mode. */
function applies({ id, check }: Requirement, { otherMode }: Scope): boolean {
  if (check === "every message") return otherMode !== "asynchronous";
  const all = SCENARIOS.filter(({ requirements }) => requirements.some((each) => each === id));
  return all.length === 0 || all.some(({ mode }) => mode !== otherMode);
}
