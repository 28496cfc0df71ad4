/** What the outcomes of scenarios say about the requirements. Called by: run-conformance.ts. */

import type { RequirementOutcome, ScenarioOutcome } from "./report.ts";
import { REQUIREMENTS, type Requirement } from "./requirements/index.ts";
import type { Scenario } from "./scenario.ts";

/**
 * A rule is failed when it was seen broken anywhere; it is passed when all that try it passed. A
 * rule of every answer, or of every message, is passed when no other one was seen.
 */
export function judgeRequirements(
  outcomes: readonly ScenarioOutcome[],
  scenarios: readonly Scenario[],
): RequirementOutcome[] {
  return REQUIREMENTS.map((requirement) => judge(requirement, outcomes, scenarios));
}

function judge(
  { id, source, text, check, untestable }: Requirement,
  outcomes: readonly ScenarioOutcome[],
  all: readonly Scenario[],
): RequirementOutcome {
  const found = { id, source, text, scenarios: [] as string[] };
  if (untestable !== undefined) return { ...found, outcome: "untestable", reason: untestable };
  const citing = outcomes.filter(({ requirements }) => requirements.includes(id));
  found.scenarios = citing.map((outcome) => outcome.id);
  const broken = outcomes.find(({ violated }) => violated === id);
  if (broken !== undefined) {
    return { ...found, outcome: "failed", reason: `${broken.id}: ${broken.reason}` };
  }
  // One that failed for another rule, or for none, has not told about this one.
  const open = citing.find(({ outcome }) => outcome !== "passed");
  if (open !== undefined) {
    return { ...found, outcome: "not_tested", reason: `${open.id}: ${open.reason}` };
  }
  const isSeen = citing.length > 0 || isPassive(check, outcomes, all);
  if (isSeen) return { ...found, outcome: "passed" };
  return { ...found, outcome: "not_tested", reason: "no scenario of this run tries it" };
}

/** Whether something was held against a rule that no scenario names. */
function isPassive(
  check: Requirement["check"],
  outcomes: readonly ScenarioOutcome[],
  all: readonly Scenario[],
): boolean {
  const passed = new Set(
    outcomes.filter(({ outcome }) => outcome === "passed").map(({ id }) => id),
  );
  if (check === "every answer") return passed.size > 0;
  if (check !== "every message") return false;
  return all.some(({ id, needs }) => passed.has(id) && needs.includes("receiver"));
}
