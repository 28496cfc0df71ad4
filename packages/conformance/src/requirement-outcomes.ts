/** Computes the outcome of each requirement from the outcomes of the scenarios. */

import { REQUIREMENTS, type Requirement } from "./contract/index.ts";
import type { RequirementOutcome, ScenarioOutcome } from "./report.ts";
import type { Scenario } from "./scenario.ts";
import { SCENARIOS } from "./scenarios/index.ts";

/** The scenarios and outcomes of a run. */
export interface Scope {
  readonly outcomes: readonly ScenarioOutcome[];
  /** The scenarios of the run. */
  readonly scenarios: readonly Scenario[];
  /** The mode of the scenarios that do not apply to the provider. */
  readonly otherMode: Scenario["mode"];
}

/**
 * A rule failed if any scenario found a violation. It passed if all its scenarios passed. A rule
 * about every answer, or every message, passed if the run checked at least one and none violated
 * it.
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
  // A scenario that failed for another reason has not tested this rule.
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

/** Whether the run checked a rule that no scenario cites. */
function isCounted(check: Requirement["check"], { outcomes, scenarios }: Scope): boolean {
  const passed = new Set(
    outcomes.filter(({ outcome }) => outcome === "passed").map(({ id }) => id),
  );
  if (check === "every answer") return passed.size > 0;
  if (check !== "every message") return false;
  return scenarios.some(({ id, needs }) => passed.has(id) && needs.includes("receiver"));
}

/** False if all scenarios of the rule are for providers of the other mode. */
function applies({ id, check }: Requirement, { otherMode }: Scope): boolean {
  if (check === "every message") return otherMode !== "asynchronous";
  const all = SCENARIOS.filter(({ requirements }) => requirements.some((each) => each === id));
  return all.length === 0 || all.some(({ mode }) => mode !== otherMode);
}
