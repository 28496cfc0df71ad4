/**
 * What a run found.
 */

/** `not_applicable`: the rule is about something that this provider does not do. */
export type Outcome = "passed" | "failed" | "not_tested" | "not_applicable";

export interface ScenarioOutcome {
  readonly id: string;
  /** What a person reads: the rule that was tried. */
  readonly title: string;
  readonly requirements: readonly string[];
  readonly outcome: Outcome;
  /** Why it did not pass. */
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
   * `failed` when a scenario saw it broken; `untestable` when no outside observation shows it.
   */
  readonly outcome: Outcome | "untestable";
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
  readonly notApplicable: number;
  readonly scenarios: readonly ScenarioOutcome[];
  readonly requirements: readonly RequirementOutcome[];
  /** What was left behind, because the provider did not let it be removed. */
  readonly leftBehind: readonly string[];
}
