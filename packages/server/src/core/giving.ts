/**
 * Who may give what: nobody gives more than they may do themselves, at that moment and through the
 * token at hand.
 *
 * Called by: operations that make reviewers and tokens or change them.
 */

import { allows, type Power, powersOf, type ReviewerRole } from "./roles.ts";
import { type Authority, decidesFor, may } from "./scopes.ts";

/** What somebody has, is given or is to have. */
export interface Gift extends Authority {
  readonly groups: readonly string[];
}

const NOTHING: Pick<Gift, "role" | "groups"> = { role: "viewer", groups: [] };

/**
 * Why somebody may not make a reviewer of this role and these groups, as a sentence for them;
 * undefined when they may.
 *
 * @param before what the reviewer is so far; nothing for a new one
 */
export function roleBar(
  giver: Authority,
  after: Pick<Gift, "role" | "groups">,
  before: Pick<Gift, "role" | "groups"> = NOTHING,
): string | undefined {
  if (isAbove(before.role, giver.role)) return aboveYours(before.role);
  const given = powersOf(after.role).filter((power) => !allows(before.role, power));
  const lacked = given.find((power) => !may(giver, power));
  if (lacked !== undefined) return `You cannot give the role ${after.role}: ${lack(lacked)}`;
  const added = after.groups.filter((group) => !before.groups.includes(group));
  const forGroups = decidesFor(giver.scopes);
  const beyond = forGroups && added.find((group) => !forGroups.includes(group));
  if (typeof beyond === "string") {
    return `The scopes of your token do not let you give the group ${beyond}.`;
  }
  return undefined;
}

/**
 * Why a reviewer may not join these groups, as a sentence for the person who changes them;
 * undefined when they may. Rules ask reviewers by group, so a person who could join any group alone
 * could decide everything.
 *
 * @param isSelf whether the reviewer is the giver
 */
export function joinBar(
  isSelf: boolean,
  after: Pick<Gift, "groups">,
  before: Pick<Gift, "groups">,
): string | undefined {
  const added = after.groups.find((group) => !before.groups.includes(group));
  if (!isSelf || added === undefined) return undefined;
  return (
    `You cannot add yourself to the group ${added}. Ask another admin, or run ` +
    "`countersign reviewers set` on the server."
  );
}

/**
 * Why somebody may not invite a person to this role and these groups, as a sentence for them;
 * undefined when they may. Whoever signs in has all of the role, looking included.
 */
export function invitationBar(
  giver: Authority & { readonly isBot: boolean },
  after: Pick<Gift, "role" | "groups">,
): string | undefined {
  if (giver.isBot) return "A bot invites nobody: whoever used the link would count as a person.";
  if (!may(giver, "read")) return `You cannot invite anybody: ${lack("read")}`;
  return roleBar(giver, after);
}

/**
 * Why somebody may not issue this token, as a sentence for them; undefined when they may.
 *
 * @param token the role of its holder, and its scopes
 */
export function tokenBar(giver: Authority, token: Authority): string | undefined {
  const looking: readonly Power[] = ["read"];
  const lacked = [...looking, ...powersOf(token.role)].find(
    (power) => may(token, power) && !may(giver, power),
  );
  if (lacked !== undefined) return `You cannot issue such a token: ${lack(lacked)}`;
  if (!allows(token.role, "decide")) return undefined;
  const [own, given] = [decidesFor(giver.scopes), decidesFor(token.scopes)];
  if (given?.length === 0) return undefined;
  if (!allows(giver.role, "decide")) return `You cannot issue such a token: ${lack("decide")}`;
  const isWithin = own === null || given?.every((group) => own.includes(group)) === true;
  return isWithin ? undefined : "You cannot issue such a token: yours decides for fewer groups.";
}

/** Whether a role is above another: it allows something that the other does not. */
export function isAbove(role: ReviewerRole, other: ReviewerRole): boolean {
  return powersOf(role).some((power) => !allows(other, power));
}

export function aboveYours(role: ReviewerRole): string {
  return `The role ${role} is above yours.`;
}

function lack(power: Power): string {
  return `you lack the power \`${power}\` yourself, or your token does.`;
}
