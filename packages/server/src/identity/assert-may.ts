import { Problem } from "@countersign/protocol";
import { allows, type Power } from "../core/roles.ts";
import { type Authority, decidesFor, may, mayVote } from "../core/scopes.ts";
import type { ReviewerCaller } from "./caller.ts";

const REFUSALS: Readonly<Record<Power, string>> = {
  read: "This reviewer may not look.",
  decide: "This reviewer may look but not decide.",
  freeze: "This reviewer may look but not freeze.",
  publish: "Only the roles editor, admin and operator may change policy.",
  people: "Only the roles admin and operator may change people, tokens and channels.",
  audit: "Only the roles auditor, admin and operator may look at the audit log.",
  server: "Only the role operator may change what holds for the whole server.",
};

/** Said when the role allows it and the token does not. */
const NARROWED: Readonly<Record<Power, string>> = {
  read: "The scopes of this token do not let it look: `read` is missing.",
  decide: "The scopes of this token do not let it decide: `decide` is missing.",
  freeze: "The scopes of this token do not let it freeze: `freeze` is missing.",
  publish: "The scopes of this token do not let it change policy: `policy` is missing.",
  people: "The scopes of this token do not let it say who may do what: `people` is missing.",
  audit: "The scopes of this token do not let it look at the audit log: `audit` is missing.",
  server: "A token with scopes cannot change what holds for the whole server.",
};

/** @throws Problem `forbidden` when the caller's role or the scopes of the token do not allow it */
export function assertMay(authority: Authority, power: Power): void {
  if (!may(authority, power)) throw new Problem("forbidden", refusalOf(authority, power));
}

/**
 * As {@link assertMay} for `decide`, when it is enough to decide for some groups.
 *
 * @throws Problem `forbidden`
 */
export function assertMayVote(authority: Authority): void {
  if (!mayVote(authority)) throw new Problem("forbidden", refusalOf(authority, "decide"));
}

/** Why somebody may not, as a sentence for them. */
export function refusalOf({ role }: Pick<Authority, "role">, power: Power): string {
  return (allows(role, power) ? NARROWED : REFUSALS)[power];
}

/** The caller as rules of policy name them, through the token at hand. */
export function deciderOf({ reviewerId, name, groups, isBot, scopes }: ReviewerCaller) {
  return { id: reviewerId, name, groups, isBot, forGroups: decidesFor(scopes) };
}
