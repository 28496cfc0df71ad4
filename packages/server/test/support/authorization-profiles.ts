/**
 * The kinds of callers, and the powers that each of them has. It repeats what roles and scopes
 * allow instead of asking the server, so that the matrix checks both.
 *
 * To add a kind of caller: its name in CALLERS, its column in HOLDERS, and its credential in
 * authorization-callers.ts.
 */

import type { Power } from "@countersign/review-api";
import type { AuthorizationStage } from "./authorization-callers.ts";

/** Callers without a valid credential. */
const UNAUTHENTICATED = [
  "no credential",
  "malformed",
  "unknown",
  "revoked",
  "expired",
  "removed",
] as const;

const OTHER_KINDS = ["provisioner", "instance"] as const;

const ROLES = ["viewer", "reviewer", "editor", "auditor", "admin", "operator"] as const;

/** Tokens of an operator. */
const SCOPED = ["read", "decide", "decide:ops", "freeze", "policy", "people", "audit"] as const;

export const CALLERS = [
  ...UNAUTHENTICATED,
  ...OTHER_KINDS,
  ...ROLES,
  ...SCOPED,
  /** A token of an operator with every scope. */
  "all-scopes",
  /** An admin that is a bot. */
  "bot",
  /** An admin of another project; for the contract, a provisioner or an instance of it. */
  "foreign",
] as const;

export type CallerName = (typeof CALLERS)[number];

export type Profile = readonly CallerName[];

const ADMINS = ["admin", "operator", "all-scopes", "bot", "foreign"] as const;

export const HOLDERS: Readonly<Record<Power, Profile>> = {
  read: [...ROLES, "read", "all-scopes", "bot", "foreign"],
  decide: ["reviewer", "decide", ...ADMINS],
  freeze: ["reviewer", "freeze", ...ADMINS],
  publish: ["editor", "policy", ...ADMINS],
  people: ["people", ...ADMINS],
  audit: ["auditor", "audit", ...ADMINS],
  /** No scope grants it. */
  server: ["operator"],
};

/** One operation in the matrix: who may call it, and how. */
export interface AuthorizationRow {
  readonly operation: string;
  /** Distinguishes rows of one operation. */
  readonly about?: string;
  readonly credential: "reviewer" | "provisioner" | "instance";
  readonly who: Profile;
  /** The status for callers in `who`. */
  readonly status: number;
  /** The status for the caller of another project, if it is in `who`. */
  readonly foreign: number;
  /** The parameter in the path. */
  readonly id?: ((stage: AuthorizationStage) => string | Promise<string>) | undefined;
  readonly query?: string | undefined;
  readonly body?: ((stage: AuthorizationStage) => object | undefined) | undefined;
  /** Restores what the operation changed, for the next caller. */
  readonly undo?: ((stage: AuthorizationStage) => Promise<void>) | undefined;
}

export function expectedStatus(row: AuthorizationRow, caller: CallerName): number {
  if (row.who.includes(caller)) return caller === "foreign" ? row.foreign : row.status;
  return UNAUTHENTICATED.some((name) => name === caller) ? 401 : 403;
}
