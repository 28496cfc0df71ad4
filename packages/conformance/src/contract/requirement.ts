/** How the kit checks a rule from outside. */
export type Check =
  /** Scenarios test it. */
  | "scenario"
  /** The kit checks every response of the run, in whatever scenario. */
  | "every answer"
  /** The kit checks every message that reaches its receiver. */
  | "every message";

interface Rule {
  /** The section of the contract. */
  readonly source: string;
  /** The rule in one sentence, in the present tense, so that a test can fail it. */
  readonly text: string;
}

/** A rule that the kit tests. */
export interface TestedRule extends Rule {
  readonly check: Check;
}

/** A rule that the kit cannot test from outside. */
export interface UntestableRule extends Rule {
  /** The reason. */
  readonly untestable: string;
}

export type RequirementTable = Readonly<Record<string, TestedRule | UntestableRule>>;
