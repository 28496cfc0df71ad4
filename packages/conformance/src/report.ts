/**
 * The results of a run.
 */

/** `not_applicable`: the rule is about a mode that the provider does not have. */
export type Outcome = "passed" | "failed" | "not_tested" | "not_applicable";

export interface ScenarioOutcome {
  readonly id: string;
  /** The tested rule, as a sentence. */
  readonly title: string;
  readonly requirements: readonly string[];
  readonly outcome: Outcome;
  /** The reason, unless it passed. */
  readonly reason?: string;
  /**
   * Id of the violated requirement. The scenario may not list it, because the kit checks the format
   * of every answer and of every message.
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
   * `failed`: a scenario found a violation. `untestable`: a client cannot observe it.
   */
  readonly outcome: Outcome | "untestable";
  /** Ids of the scenarios of the run that test it. */
  readonly scenarios: readonly string[];
  /** The reason, unless it passed. */
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
  /** Ids of the instances that the provider did not delete. */
  readonly leftBehind: readonly string[];
}
