/**
 * What a reviewer's role allows. Looking is allowed to every role, except at the audit log; what
 * else is asked for by name, so that one table says who may do what.
 *
 * Called by: operations of the reviewer surface, through identity/assert-may.ts, and those that
 * give roles. What a token leaves of it is core/scopes.ts.
 */

export const REVIEWER_ROLES = [
  "viewer",
  "reviewer",
  "editor",
  "auditor",
  "admin",
  "operator",
] as const;

export type ReviewerRole = (typeof REVIEWER_ROLES)[number];

export type Power =
  /** Look at everything in the project but the audit log. */
  | "read"
  /** Give verdicts, and make, use and revoke grants. */
  | "decide"
  /** Freeze instances and the project, and lift that. */
  | "freeze"
  /** Publish policy, and put instances into groups. */
  | "publish"
  /**
   * Say who may do what in the project: reviewers, bots and their tokens; and
   * through what people are told.
   */
  | "people"
  /** Look at the audit log. */
  | "audit"
  /** The same for the whole server: its floor, its freeze. */
  | "server";

const POWERS: Readonly<Record<ReviewerRole, readonly Power[]>> = {
  viewer: [],
  reviewer: ["decide", "freeze"],
  editor: ["publish"],
  auditor: ["audit"],
  admin: ["decide", "freeze", "publish", "people", "audit"],
  operator: ["decide", "freeze", "publish", "people", "audit", "server"],
};

export function allows(role: ReviewerRole, power: Power): boolean {
  return power === "read" || powersOf(role).includes(power);
}

/** Besides looking. */
export function powersOf(role: ReviewerRole): readonly Power[] {
  // A role that a newer program made allows nothing here.
  return Object.hasOwn(POWERS, role) ? POWERS[role] : [];
}
