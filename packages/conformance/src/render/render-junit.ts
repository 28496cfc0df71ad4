/** The report as JUnit XML, which build servers read. */

import type { Report, ScenarioOutcome } from "../report.ts";

export function renderJunit(report: Report): string {
  const counts = [
    `tests="${report.scenarios.length}"`,
    `failures="${report.failed}"`,
    `skipped="${report.notTested + report.notApplicable}"`,
    `time="${seconds(report.durationMs)}"`,
  ].join(" ");
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="conformance" ${counts}>`,
    `<testsuite name="${escapeXml(report.baseUrl)}" timestamp="${report.startedAt}" ${counts}>`,
    ...report.scenarios.map(renderCase),
    "</testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

function renderCase({ id, outcome, reason = "", violated, durationMs }: ScenarioOutcome): string {
  const [group] = id.split(".");
  const name = `classname="${group}" name="${escapeXml(id)}"`;
  const head = `<testcase ${name} time="${seconds(durationMs)}"`;
  if (outcome === "passed") return `${head}/>`;
  const why = `message="${escapeXml(violated === undefined ? reason : `${violated}: ${reason}`)}"`;
  const result = outcome === "failed" ? `<failure ${why}/>` : `<skipped ${why}/>`;
  return `${head}>${result}</testcase>`;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
};

/** XML has no place for most control characters, not even as entities. */
function escapeXml(text: string): string {
  return text
    .replace(/[&<>"]/g, (character) => ENTITIES[character] ?? "")
    .replace(/\p{Cc}/gu, " ")
    .toWellFormed();
}
