/** The scopes of a token. They only restrict the permissions of its holder; null: all of them. */

import { GROUP_NAME } from "./groups.ts";
import { allows, type Power, type ReviewerRole } from "./roles.ts";

export type Scopes = readonly string[] | null;

/**
 * The power of each scope. No scope permits changes of the whole server: that requires a token
 * without scopes.
 */
const OPENS: Readonly<Record<string, Power>> = {
  read: "read",
  decide: "decide",
  freeze: "freeze",
  policy: "publish",
  people: "people",
  audit: "audit",
};

/** `decide:GROUP`: verdicts that count for this group only, and no other power. */
const DECIDE_FOR = "decide:";

export const SCOPE_NAMES = "read, decide, decide:GROUP, freeze, policy, people and audit";

/** Maximum for one token. */
export const SCOPES_MAX = 32;

/** The fault of scopes, as the end of a sentence; undefined when they are valid. */
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

/** Without duplicates, in stored order. */
export function toScopes(scopes: readonly string[]): readonly string[] {
  return [...new Set(scopes)].sort();
}

/**
 * True when the scopes include the complete power; `decide:GROUP` includes only a part of `decide`.
 */
export function includesPower(scopes: Scopes, power: Power): boolean {
  return (
    scopes === null || scopes.some((scope) => Object.hasOwn(OPENS, scope) && OPENS[scope] === power)
  );
}

/**
 * The groups for which verdicts count: those of `decide:GROUP`.
 *
 * @returns null without a restriction; empty when no verdict can count
 */
export function votingGroups(scopes: Scopes): readonly string[] | null {
  if (scopes === null || includesPower(scopes, "decide")) return null;
  return scopes
    .filter((scope) => scope.startsWith(DECIDE_FOR))
    .map((scope) => scope.slice(DECIDE_FOR.length));
}

/** The union of {@link votingGroups} over a reviewer's tokens. */
export function votingGroupsOfTokens(ways: readonly Scopes[]): readonly string[] | null {
  const each = ways.map(votingGroups);
  return each.includes(null) ? null : toScopes(each.flatMap((groups) => groups ?? []));
}

/** Combines two restrictions to groups; null: no restriction. */
export function intersectGroups(
  one: readonly string[] | null,
  other: readonly string[] | null,
): readonly string[] | null {
  if (one === null || other === null) return one ?? other;
  return one.filter((group) => other.includes(group));
}

/** The permissions of a caller. */
export interface Authority {
  readonly role: ReviewerRole;
  readonly scopes: Scopes;
}

export function isPermitted({ role, scopes }: Authority, power: Power): boolean {
  return allows(role, power) && includesPower(scopes, power);
}

/** True when the caller can decide, at least for some groups. */
export function mayVote({ role, scopes }: Authority): boolean {
  return allows(role, "decide") && votingGroups(scopes)?.length !== 0;
}
