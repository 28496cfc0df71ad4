/**
 * The powers of the roles of reviewers. Every role may read, except the audit log. The scopes of a
 * token narrow this further. No schemas: browsers load it.
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
  /** Read everything in the project except the audit log. */
  | "read"
  /** Give verdicts, and create, use and revoke grants. */
  | "decide"
  /** Freeze instances and the project, and end freezes. */
  | "freeze"
  /** Publish policy, and put instances into groups. */
  | "publish"
  /** Change the reviewers, bots, tokens and channels of the project. */
  | "people"
  /** Read the audit log. */
  | "audit"
  /** The same for the whole server: its baseline policy, its freeze. */
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

/** Besides reading. */
export function powersOf(role: ReviewerRole): readonly Power[] {
  // A role that a newer program created allows nothing here.
  return Object.hasOwn(POWERS, role) ? POWERS[role] : [];
}
