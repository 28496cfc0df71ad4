/** Lists the scenarios, and the scenarios that test each rule. */

import { REQUIREMENTS } from "../contract/index.ts";
import type { Scenario } from "../scenario.ts";

export function renderList(scenarios: readonly Scenario[]): string {
  const scenarioLines = scenarios.flatMap(({ id, title, needs, mode }) => {
    const conditions = [...needs.map((need) => `needs ${need}`), ...(mode ? [mode] : [])];
    const tail = conditions.length === 0 ? "" : ` (${conditions.join(", ")})`;
    return [`${id}${tail}`, `    ${title}`];
  });
  const ruleLines = REQUIREMENTS.flatMap(({ id, source, text, check, untestable }) => {
    const how =
      untestable !== undefined
        ? `not testable from outside: ${untestable}`
        : check === "scenario"
          ? `tested by ${citing(scenarios, id)}`
          : `checked by ${check}`;
    return [`${id} (${source})`, `    ${text}`, `    ${how}`];
  });
  return ["Scenarios:", ...scenarioLines, "", "Requirements:", ...ruleLines].join("\n");
}

function citing(scenarios: readonly Scenario[], id: string): string {
  const names = scenarios.filter(({ requirements }) => {
    return requirements.some((requirement) => requirement === id);
  });
  return names.map((scenario) => scenario.id).join(", ");
}
