/** The report for people: one line for each scenario as it ends, and what it comes to. */

import type { Report, RequirementOutcome, ScenarioOutcome } from "../report.ts";

const WORDS = {
  passed: "ok",
  failed: "FAILED",
  not_tested: "untested",
  not_applicable: "n/a",
} as const;

/** One line, and below it why. */
export function renderOutcome({ id, title, outcome, reason, violated }: ScenarioOutcome): string {
  const lines = [`${WORDS[outcome].padEnd(9)}${id}`];
  if (outcome === "failed") lines.push(`         rule: ${title}`);
  if (violated !== undefined) lines.push(`         broken: ${violated}`);
  if (reason !== undefined) lines.push(`         ${oneLine(reason)}`);
  return lines.join("\n");
}

/** The summary at the end of the text report. */
export function renderSummary(report: Report): string {
  const { requirements, scenarios } = report;
  const broken = requirements.filter(({ outcome }) => outcome === "failed");
  const untested = requirements.filter(({ outcome }) => outcome === "not_tested");
  // With --only, rules without a scenario in the run are counted but not listed.
  const near = untested.filter((requirement) => requirement.scenarios.length > 0);
  const untestable = requirements.filter(({ outcome }) => outcome === "untestable");
  const others = requirements.filter(({ outcome }) => outcome === "not_applicable");
  const passed = requirements.filter(({ outcome }) => outcome === "passed");
  return [
    "",
    ...section("Broken requirements", broken, (each) => ruleLines(each)),
    ...section("Requirements that were not tested", near, (each) => ruleLines(each)),
    `${scenarios.length} scenarios in ${(report.durationMs / 1000).toFixed(1)} s: ` +
      `${report.passed} passed, ${report.failed} failed, ${report.notTested} not tested, ` +
      `${report.notApplicable} not applicable.`,
    `${requirements.length} requirements: ${passed.length} kept, ${broken.length} broken, ` +
      `${untested.length} not tested, ${others.length} not applicable, ` +
      `${untestable.length} that cannot be tested from outside.`,
    ...section("Left behind at the provider", report.leftBehind, (id) => [`  instance ${id}`]),
  ].join("\n");
}

function ruleLines({ id, source, text, reason }: RequirementOutcome): string[] {
  const why = reason === undefined ? [] : [`    ${oneLine(reason)}`];
  return [`  ${id} (${source})`, `    ${text}`, ...why];
}

function section<T>(title: string, all: readonly T[], lines: (one: T) => string[]): string[] {
  return all.length === 0 ? [] : [`${title}:`, ...all.flatMap(lines), ""];
}

/** Text of a provider must not move the cursor of the terminal. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    return `\\u{${character.codePointAt(0)?.toString(16)}}`;
  });
}
