/**
 * The one table of the contract's rules. Scenarios of the kit cite the ids, and so do the titles of
 * this repository's tests: `test("[request.cancel.terminal] cancelling a denied request ...")`.
 * tools/requirements fails when a rule has no such test, and when a test cites an unknown id.
 *
 * An id names the thing, then the rule. It is never renamed, and never used for another rule.
 */

import { DELIVERIES } from "./deliveries.ts";
import { EXCHANGE } from "./exchange.ts";
import { INSTANCES } from "./instances.ts";
import { REQUESTS } from "./requests.ts";
import type { Check, RequirementTable } from "./requirement.ts";

const TABLE = {
  ...EXCHANGE,
  ...INSTANCES,
  ...REQUESTS,
  ...DELIVERIES,
} as const satisfies RequirementTable;

/** The rules that the kit tests. */
export type RequirementId = {
  [Id in keyof typeof TABLE]: (typeof TABLE)[Id] extends { readonly check: Check } ? Id : never;
}[keyof typeof TABLE];

export interface Requirement {
  readonly id: string;
  /** The section of the contract. */
  readonly source: string;
  readonly text: string;
  /** Undefined for a rule that the kit cannot test. */
  readonly check: Check | undefined;
  /** Why the kit cannot test the rule from outside. */
  readonly untestable: string | undefined;
}

export const REQUIREMENTS: readonly Requirement[] = Object.entries(TABLE).map(([id, rule]) => ({
  id,
  source: rule.source,
  text: rule.text,
  check: "check" in rule ? rule.check : undefined,
  untestable: "untestable" in rule ? rule.untestable : undefined,
}));
