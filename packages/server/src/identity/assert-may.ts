/** Checks the permissions of a reviewer: the role and the scopes of the token. */

import { Problem } from "@countersign/protocol";
import { allows, type Power } from "../core/roles.ts";
import { type Authority, isPermitted, mayVote, votingGroups } from "../core/scopes.ts";
import type { ReviewerCaller } from "./caller.ts";

const REFUSALS: Readonly<Record<Power, string>> = {
  read: "Your role cannot read requests.",
  decide: "Your role can read requests but cannot decide them.",
  freeze: "Your role can read requests but cannot freeze calls.",
  publish: "Only the roles editor, admin and operator may change policy.",
  people: "Only the roles admin and operator may change people, tokens and channels.",
  audit: "Only the roles auditor, admin and operator may read the audit log.",
  server: "Only the role operator may change settings of the whole server.",
};

/** Messages for a role that has the power and a token that does not. */
const NARROWED: Readonly<Record<Power, string>> = {
  read: "This token lacks the scope `read`. Use a token that has it.",
  decide: "This token lacks the scope `decide`. Use a token that has it.",
  freeze: "This token lacks the scope `freeze`. Use a token that has it.",
  publish: "This token lacks the scope `policy`. Use a token that has it.",
  people: "This token lacks the scope `people`. Use a token that has it.",
  audit: "This token lacks the scope `audit`. Use a token that has it.",
  server: "A token with scopes cannot change settings of the whole server.",
};

/** @throws Problem `forbidden` when the caller's role or the scopes of the token lack the power */
export function assertMay(authority: Authority, power: Power): void {
  if (!isPermitted(authority, power)) throw new Problem("forbidden", refusalOf(authority, power));
}

/**
 * As {@link assertMay} for `decide`. Permission for some groups is sufficient.
 *
 * @throws Problem `forbidden`
 */
export function assertMayVote(authority: Authority): void {
  if (!mayVote(authority)) throw new Problem("forbidden", refusalOf(authority, "decide"));
}

/** The message for a role that lacks a power. */
export function refusalOf({ role }: Pick<Authority, "role">, power: Power): string {
  return (allows(role, power) ? NARROWED : REFUSALS)[power];
}

/** The caller with the names that policy rules use, limited by the token. */
export function deciderOf({ reviewerId, name, groups, isBot, scopes }: ReviewerCaller) {
  return { id: reviewerId, name, groups, isBot, forGroups: votingGroups(scopes) };
}
