/**
 * Delegation of authority: reviewers can grant at most the permissions of their own role and of the
 * token in use.
 */

import { allows, type Power, powersOf, type ReviewerRole } from "./roles.ts";
import { type Authority, isPermitted, votingGroups } from "./scopes.ts";

/** A current or proposed role with its groups. */
export interface Authorization extends Authority {
  readonly groups: readonly string[];
}

const NOTHING: Pick<Authorization, "role" | "groups"> = { role: "viewer", groups: [] };

/**
 * Why the caller may not assign this role and these groups, as a sentence for the caller; undefined
 * when permitted.
 *
 * @param before the current state of the reviewer; undefined for a new one
 */
export function roleRefusal(
  delegator: Authority,
  after: Pick<Authorization, "role" | "groups">,
  before: Pick<Authorization, "role" | "groups"> = NOTHING,
): string | undefined {
  if (isAbove(before.role, delegator.role)) return roleAboveMessage(before.role);
  const requested = powersOf(after.role).filter((power) => !allows(before.role, power));
  const lacked = requested.find((power) => !isPermitted(delegator, power));
  if (lacked !== undefined) return `You cannot assign the role ${after.role}: ${lack(lacked)}`;
  const added = after.groups.filter((group) => !before.groups.includes(group));
  const forGroups = votingGroups(delegator.scopes);
  const outside = forGroups && added.find((group) => !forGroups.includes(group));
  if (typeof outside === "string") {
    return `The scopes of your token do not let you assign the group ${outside}.`;
  }
  return undefined;
}

/**
 * Why a reviewer may not join these groups, as a sentence for the user who changes them; undefined
 * when permitted. Rules require approvals by group, so a user who could join any group could decide
 * everything alone.
 *
 * @param isSelf true when the reviewer is the delegator
 */
export function joinRefusal(
  isSelf: boolean,
  after: Pick<Authorization, "groups">,
  before: Pick<Authorization, "groups">,
): string | undefined {
  const added = after.groups.find((group) => !before.groups.includes(group));
  if (!isSelf || added === undefined) return undefined;
  return (
    `You cannot add yourself to the group ${added}. Ask another admin, or run ` +
    "`countersign reviewers set` on the server."
  );
}

/**
 * Why the caller may not invite a user to this role and these groups, as a sentence; undefined when
 * permitted. A signed-in user has all powers of the role, including reading.
 */
export function invitationRefusal(
  delegator: Authority & { readonly isBot: boolean },
  after: Pick<Authorization, "role" | "groups">,
): string | undefined {
  if (delegator.isBot) return "Bots cannot create invitations.";
  if (!isPermitted(delegator, "read")) return `You cannot create invitations: ${lack("read")}`;
  return roleRefusal(delegator, after);
}

/**
 * Why the caller may not issue this token, as a sentence; undefined when permitted.
 *
 * @param token the role of its holder, and its scopes
 */
export function tokenRefusal(delegator: Authority, token: Authority): string | undefined {
  const reading: readonly Power[] = ["read"];
  const lacked = [...reading, ...powersOf(token.role)].find(
    (power) => isPermitted(token, power) && !isPermitted(delegator, power),
  );
  if (lacked !== undefined) return `You cannot issue such a token: ${lack(lacked)}`;
  if (!allows(token.role, "decide")) return undefined;
  const [own, requested] = [votingGroups(delegator.scopes), votingGroups(token.scopes)];
  if (requested?.length === 0) return undefined;
  if (!allows(delegator.role, "decide")) return `You cannot issue such a token: ${lack("decide")}`;
  const isWithin = own === null || requested?.every((group) => own.includes(group)) === true;
  return isWithin
    ? undefined
    : "You cannot issue such a token: your token decides for fewer groups.";
}

/** True when a role has a power that the other lacks. */
export function isAbove(role: ReviewerRole, other: ReviewerRole): boolean {
  return powersOf(role).some((power) => !allows(other, power));
}

export function roleAboveMessage(role: ReviewerRole): string {
  return `The role ${role} is above yours.`;
}

function lack(power: Power): string {
  return `your role or your token lacks the power \`${power}\`.`;
}
