/** The report as JSON, for programs. */

import type { Report } from "../report.ts";

/** Of the form, not of the kit: it grows when a member changes its meaning or goes. */
const FORM = 1;

export function renderJson(report: Report): string {
  const { scenarios, requirements } = report;
  const form = {
    form: FORM,
    base_url: report.baseUrl,
    started_at: report.startedAt,
    duration_ms: report.durationMs,
    passed: report.passed,
    failed: report.failed,
    not_tested: report.notTested,
    not_applicable: report.notApplicable,
    scenarios: scenarios.map(({ durationMs, ...rest }) => ({ ...rest, duration_ms: durationMs })),
    requirements,
    left_behind: report.leftBehind,
  };
  return `${JSON.stringify(form, null, 2)}\n`;
}
