/**
 * Every rule of the contract that binds a provider, in the order of the contract: what the kit
 * tries, and what nothing from outside tells of, with the reason.
 *
 * Called by: scenarios, which cite ids; reports.
 */

import { AUTHENTICATION } from "./authentication.ts";
import { ENDPOINTS } from "./endpoints.ts";
import { ERRORS } from "./errors.ts";
import { EVENTS } from "./events.ts";
import type { Check, RequirementTable } from "./requirement.ts";
import { RESOURCES } from "./resources.ts";
import { SERVICE } from "./service.ts";
import { STATES } from "./states.ts";

const TABLE = {
  ...SERVICE,
  ...RESOURCES,
  ...STATES,
  ...ENDPOINTS,
  ...AUTHENTICATION,
  ...EVENTS,
  ...ERRORS,
} as const satisfies RequirementTable;

/** The rules that can be broken in the kit's sight. */
export type RequirementId = {
  [Id in keyof typeof TABLE]: (typeof TABLE)[Id] extends { readonly check: Check } ? Id : never;
}[keyof typeof TABLE];

export interface Requirement {
  readonly id: string;
  readonly source: string;
  readonly text: string;
  /** How it is looked at; undefined for what is untestable. */
  readonly check: Check | undefined;
  /** Why it is not testable from outside. */
  readonly untestable: string | undefined;
}

export const REQUIREMENTS: readonly Requirement[] = Object.entries(TABLE).map(([id, rule]) => ({
  id,
  source: rule.source,
  text: rule.text,
  check: "check" in rule ? rule.check : undefined,
  untestable: "untestable" in rule ? rule.untestable : undefined,
}));
