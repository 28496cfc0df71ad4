/**
 * What a token may do of all that its holder may: its scopes. They only narrow; null is a token
 * without any, which may do all of it.
 */

import { GROUP_NAME } from "./groups.ts";
import { allows, type Power, type ReviewerRole } from "./roles.ts";

export type Scopes = readonly string[] | null;

/** What each scope opens. The whole server has none: only a token without scopes reaches it. */
const OPENS: Readonly<Record<string, Power>> = {
  read: "read",
  decide: "decide",
  freeze: "freeze",
  policy: "publish",
  people: "people",
  audit: "audit",
};

/** `decide:GROUP`: verdicts that count as those of a member of this group, and nothing else. */
const DECIDE_FOR = "decide:";

export const SCOPE_NAMES = "read, decide, decide:GROUP, freeze, policy, people and audit";

/** At most so many for one token. */
export const SCOPES_MAX = 32;

/** What is wrong with scopes, so that it completes a sentence; undefined when nothing is. */
export function scopesFault(scopes: readonly string[]): string | undefined {
  if (scopes.length === 0) return "must not be empty: omit it for all permissions of the holder";
  if (new Set(scopes).size > SCOPES_MAX) return `must not be more than ${SCOPES_MAX}`;
  const wrong = scopes.find((scope) => !isScope(scope));
  return wrong === undefined
    ? undefined
    : `must be of ${SCOPE_NAMES}, not ${JSON.stringify(wrong.slice(0, 80))}`;
}

function isScope(scope: string): boolean {
  if (scope.startsWith(DECIDE_FOR)) return GROUP_NAME.test(scope.slice(DECIDE_FOR.length));
  return Object.hasOwn(OPENS, scope);
}

/** Each once, in the order in which they are stored. */
export function toScopes(scopes: readonly string[]): readonly string[] {
  return [...new Set(scopes)].sort();
}

/** Whether scopes leave a power as it is; `decide:GROUP` leaves only a part of `decide`. */
export function includesPower(scopes: Scopes, power: Power): boolean {
  return (
    scopes === null || scopes.some((scope) => Object.hasOwn(OPENS, scope) && OPENS[scope] === power)
  );
}

/**
 * The groups for which verdicts count: those of `decide:GROUP`.
 *
 * @returns null when they count for whatever the holder is named by; empty when there can be none
 */
export function votingGroups(scopes: Scopes): readonly string[] | null {
  if (scopes === null || includesPower(scopes, "decide")) return null;
  return scopes
    .filter((scope) => scope.startsWith(DECIDE_FOR))
    .map((scope) => scope.slice(DECIDE_FOR.length));
}

/** The groups for which a reviewer with these tokens can vote; as {@link votingGroups}. */
export function votingGroupsOfTokens(ways: readonly Scopes[]): readonly string[] | null {
  const each = ways.map(votingGroups);
  return each.includes(null) ? null : toScopes(each.flatMap((groups) => groups ?? []));
}

/** What two narrowings by groups leave together. */
export function intersectGroups(
  one: readonly string[] | null,
  other: readonly string[] | null,
): readonly string[] | null {
  if (one === null || other === null) return one ?? other;
  return one.filter((group) => other.includes(group));
}

/** Who acts, as far as powers go. */
export interface Authority {
  readonly role: ReviewerRole;
  readonly scopes: Scopes;
}

export function isPermitted({ role, scopes }: Authority, power: Power): boolean {
  return allows(role, power) && includesPower(scopes, power);
}

/** Whether verdicts can be given at all, if only for some groups. */
export function mayVote({ role, scopes }: Authority): boolean {
  return allows(role, "decide") && votingGroups(scopes)?.length !== 0;
}
