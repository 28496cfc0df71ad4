/**
 * What a reviewer's role allows. Looking is allowed to every role; what else is asked for by
 * name, so that one table says who may do what.
 *
 * Called by: operations of the reviewer surface, through identity/assert-may.ts.
 */

export const REVIEWER_ROLES = ["viewer", "reviewer", "editor", "admin", "operator"] as const;

export type ReviewerRole = (typeof REVIEWER_ROLES)[number];

export type Power =
  /** Give verdicts, and make, use and revoke grants. */
  | "decide"
  /** Freeze instances and the project, and lift that. */
  | "freeze"
  /** Publish policy, and put instances into groups. */
  | "publish"
  /** Say who may do what in the project. */
  | "people"
  /** The same for the whole server: its floor, its freeze. */
  | "server";

const POWERS: Readonly<Record<ReviewerRole, readonly Power[]>> = {
  viewer: [],
  reviewer: ["decide", "freeze"],
  editor: ["publish"],
  admin: ["decide", "freeze", "publish", "people"],
  operator: ["decide", "freeze", "publish", "people", "server"],
};

export function allows(role: ReviewerRole, power: Power): boolean {
  // A role that a newer program made allows nothing here.
  return POWERS[role]?.includes(power) === true;
}

/** Whether `given` allows nothing that `own` does not: who has `own` may give it to others. */
export function isWithin(given: ReviewerRole, own: ReviewerRole): boolean {
  return POWERS[given]?.every((power) => allows(own, power)) === true;
}
