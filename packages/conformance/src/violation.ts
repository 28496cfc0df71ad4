/** The errors with which a scenario of the kit ends. */

import type { RequirementId } from "./contract/index.ts";

/** The provider broke a rule. The message says what was done and what came back, no secret. */
export class Violation extends Error {
  override readonly name = "Violation";
  readonly requirement: RequirementId;

  constructor(requirement: RequirementId, message: string) {
    super(message);
    this.requirement = requirement;
  }
}

/** The scenario cannot be tested at this provider; the message says why. */
export class NotTested extends Error {
  override readonly name = "NotTested";
}

/** The rule does not touch this provider; the message says why. */
export class NotApplicable extends Error {
  override readonly name = "NotApplicable";
}

/** @throws Violation unless the condition holds */
export function expect(
  condition: boolean,
  requirement: RequirementId,
  message: string | (() => string),
): asserts condition {
  if (condition) return;
  throw new Violation(requirement, typeof message === "string" ? message : message());
}
