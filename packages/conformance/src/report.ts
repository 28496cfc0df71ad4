/**
 * What a run found. Called by: run-conformance.ts, which makes it; render/, which writes it down.
 */

export type Outcome = "passed" | "failed" | "not_tested";

export interface ScenarioOutcome {
  readonly id: string;
  /** What a person reads: the rule that was tried. */
  readonly title: string;
  readonly requirements: readonly string[];
  readonly outcome: Outcome;
  /** Why it failed, or was not tested. */
  readonly reason?: string;
  /**
   * The requirement that was seen broken. It may be one that the scenario does not list: the form
   * of every answer and of every message is checked, whatever the scenario is about.
   */
  readonly violated?: string;
  readonly durationMs: number;
}

export interface RequirementOutcome {
  readonly id: string;
  /** The section of the contract. */
  readonly source: string;
  readonly text: string;
  /**
   * `failed` when a scenario saw it broken; `untestable` when nothing that shows outside tells;
   * `not_applicable` when it is for providers of the other mode.
   */
  readonly outcome: Outcome | "untestable" | "not_applicable";
  /** The scenarios of the run that try it. */
  readonly scenarios: readonly string[];
  /** Why it is not `passed`. */
  readonly reason?: string;
}

export interface Report {
  readonly baseUrl: string;
  readonly startedAt: string;
  readonly durationMs: number;
  readonly passed: number;
  readonly failed: number;
  readonly notTested: number;
  readonly scenarios: readonly ScenarioOutcome[];
  readonly requirements: readonly RequirementOutcome[];
  /** What was left behind, because the provider did not let it be removed. */
  readonly leftBehind: readonly string[];
}
