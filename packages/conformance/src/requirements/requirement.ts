/**
 * A rule of the contract as data. Ids are the kit's own and begin with the section; they are
 * never renamed, and never used again for another rule.
 */

/** How a rule is looked at from outside. */
export type Check =
  /** Scenarios try it. */
  | "scenario"
  /** Every answer of the run is held against it, in whatever scenario. */
  | "every answer"
  /** Every message that reaches the kit's receiver is held against it. */
  | "every message";

interface Rule {
  /** The section of the contract. */
  readonly source: string;
  /** The rule in one sentence, so that a scenario can fail it. */
  readonly text: string;
}

/** A rule that the kit tries. */
export interface TestedRule extends Rule {
  readonly check: Check;
}

/** A rule that nothing visible from outside tells of. */
export interface UntestableRule extends Rule {
  /** The reason. */
  readonly untestable: string;
}

export type RequirementTable = Readonly<Record<string, TestedRule | UntestableRule>>;
