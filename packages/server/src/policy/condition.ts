/**
 * Conditions: CEL expressions, read and checked when a policy is loaded.
 */

/** A condition that was read, checked and bounded. */
export interface Condition {
  readonly source: string;
}

/** An expression that says a text: what a reviewer must type. */
export interface TextExpression {
  readonly source: string;
}
