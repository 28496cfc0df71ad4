/**
 * The kinds of callers, and who of them reaches what, for authorization-table.ts.
 *
 * To add a kind of caller: its name in CALLERS, its column in each profile, and how to come by it
 * in authorization-callers.ts.
 */

import type { AuthorizationStage } from "./authorization-callers.ts";

/** Nobody, or somebody who was. */
const STRANGERS = ["nobody", "malformed", "unknown", "revoked", "expired", "removed"] as const;

const OTHER_KINDS = ["provisioner", "instance"] as const;

const ROLES = ["viewer", "reviewer", "editor", "auditor", "admin", "operator"] as const;

/** Tokens of an operator. */
const SCOPED = ["read", "decide", "decide:ops", "freeze", "policy", "people", "audit"] as const;

export const CALLERS = [
  ...STRANGERS,
  ...OTHER_KINDS,
  ...ROLES,
  ...SCOPED,
  /** A token with all scopes that there are, of an operator. */
  "all-scopes",
  /** An admin that is a bot. */
  "bot",
  /** An admin of another project; for the contract, a provisioner or an instance of it. */
  "foreign",
] as const;

export type CallerName = (typeof CALLERS)[number];

/** Who reaches an operation; all others get 401 as strangers, and 403. */
type Profile = readonly CallerName[];

export const whoever = (...names: readonly CallerName[]): Profile => names;

export const LOOKING = whoever(...ROLES, "read", "all-scopes", "bot", "foreign");
export const DECIDING = whoever(
  "reviewer",
  "admin",
  "operator",
  "decide",
  "all-scopes",
  "bot",
  "foreign",
);
export const FREEZING = whoever(
  "reviewer",
  "admin",
  "operator",
  "freeze",
  "all-scopes",
  "bot",
  "foreign",
);
export const PUBLISHING = whoever(
  "editor",
  "admin",
  "operator",
  "policy",
  "all-scopes",
  "bot",
  "foreign",
);
export const ADMINISTERING = whoever("admin", "operator", "people", "all-scopes", "bot", "foreign");
export const AUDITING = whoever(
  "auditor",
  "admin",
  "operator",
  "audit",
  "all-scopes",
  "bot",
  "foreign",
);
/** Not even a token with all scopes reaches the whole server. */
export const OPERATING = whoever("operator");
export const VOTING = whoever(...DECIDING, "decide:ops");
export const EVERYBODY = CALLERS;

export function without(profile: Profile, ...names: readonly CallerName[]): Profile {
  return profile.filter((name) => !names.includes(name));
}

export interface AuthorizationRow {
  readonly operation: string;
  /** What tells rows of one operation apart. */
  readonly about?: string;
  readonly who: Profile;
  /** What is answered to those who reach it. */
  readonly status: number;
  /** To the caller of another project; as to the others when it is not said. */
  readonly foreign?: number;
  /** In place of `:id` and `:number`. */
  readonly id?: (stage: AuthorizationStage) => string | Promise<string>;
  readonly body?: (stage: AuthorizationStage, id: string) => object | Promise<object>;
  /** Puts back what the operation changed, so that the next caller finds the same. */
  readonly undo?: (stage: AuthorizationStage) => Promise<void>;
}

/** What is answered to a caller. */
export function expectedStatus(row: AuthorizationRow, caller: CallerName): number {
  if (!row.who.includes(caller)) {
    return STRANGERS.some((name) => name === caller) ? 401 : 403;
  }
  return caller === "foreign" ? (row.foreign ?? row.status) : row.status;
}
