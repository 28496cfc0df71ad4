/**
 * Who may decide a request, what an approval must bring along, and when enough people have
 * approved: the rules of a requirement, as pure functions.
 *
 * Whether a role may decide anything at all is asked elsewhere, see core/roles.ts.
 */

import type { ConfirmationKind, Requirement } from "./rule.ts";

/** A reviewer, as far as rules can name one. */
export interface Decider {
  readonly id: string;
  readonly name: string;
  readonly groups: readonly string[];
  readonly isBot: boolean;
  /** The only groups that they decide for, with a token that says so; null: for any reason. */
  readonly forGroups: readonly string[] | null;
}

/** Whose call it is. */
export interface CallOwnership {
  /** A reviewer; null when the instance has no owner. */
  readonly ownerId: string | null;
  readonly instanceId: string;
}

/**
 * Why this reviewer may not approve, as a sentence for them; undefined when they may. An unknown
 * excluded owner excludes all reviewers, because any of them could be the owner.
 */
export function approvalRefusal(
  requirement: Requirement,
  decider: Decider,
  { ownerId, instanceId }: CallOwnership,
): string | undefined {
  if (!isNamed(requirement, decider)) return notNamed(requirement, decider);
  if (decider.isBot && !requirement.bots) return NO_BOTS;
  if (!CONFIRMS.includes(requirement.confirm.kind)) return UNKNOWN_CONFIRM;
  if (!requirement.excludeOwner) return undefined;
  if (ownerId === null) {
    return (
      "This call excludes the owner of its instance, and the instance has no owner. " +
      `Set one with countersign instances set ${instanceId} --owner NAME.`
    );
  }
  return ownerId === decider.id
    ? "The owner of the instance may not approve this call."
    : undefined;
}

/** Whether an approval must be signed with a passkey. */
export function needsPasskey({ confirm }: Requirement): boolean {
  return confirm.kind === "passkey";
}

/** Why this caller cannot sign an approval with a passkey; undefined when it can. */
export function passkeyRefusal({
  isPerson,
  hasPasskey,
}: {
  /** Signed in, and not with a token. */
  readonly isPerson: boolean;
  readonly hasPasskey: boolean;
}): string | undefined {
  if (!isPerson) return NO_PERSON;
  return hasPasskey ? undefined : NO_PASSKEY;
}

/** Wrong confirmations on one request, after which its reviewer cannot approve it. */
export const FAILED_ATTEMPTS_MAX = 3;

/** Why a reviewer with so many failed attempts cannot approve; undefined when they can. */
export function failedAttemptsRefusal(attempts: number): string | undefined {
  return attempts < FAILED_ATTEMPTS_MAX ? undefined : TOO_MANY_ATTEMPTS;
}

/** As {@link approvalRefusal}, for a denial: one of those who are named is enough, or the owner. */
export function denialRefusal(
  requirement: Requirement,
  decider: Decider,
  { ownerId }: Pick<CallOwnership, "ownerId">,
): string | undefined {
  const isOwner = ownerId === decider.id && decider.forGroups === null;
  return isNamed(requirement, decider) || isOwner ? undefined : notNamed(requirement, decider);
}

/**
 * Whether these people together are enough.
 *
 * @param approvers who approved and still may
 */
export function isEnough(
  { from, quorum, quorums }: Requirement,
  approvers: readonly Decider[],
): boolean {
  if (countPeople(approvers) < quorum) return false;
  return from.every((set, index) => {
    const members = approvers.filter((approver) => belongs(set, approver));
    return countPeople(members) >= (quorums?.[index] ?? 1);
  });
}

function countPeople(people: readonly Decider[]): number {
  return new Set(people.map(({ id }) => id)).size;
}

/** Whether one approval may not be enough, so that votes are kept. */
export function collectsVotes({ from, quorum }: Requirement): boolean {
  return quorum > 1 || from.length > 1;
}

/** How much of an id is typed with the confirmation `match`. */
const MATCHED_CHARS = 4;

/** What must be sent as confirmation; undefined when nothing. */
export function confirmationOf(confirm: ConfirmationKind, requestId: string): string | undefined {
  if (confirm.kind === "type") return confirm.text;
  return confirm.kind === "match" ? requestId.slice(-MATCHED_CHARS) : undefined;
}

/**
 * What is wrong with a confirmation, so that it completes a sentence that begins with the name of
 * its field; undefined when nothing is.
 */
export function confirmationFault(
  confirm: ConfirmationKind,
  requestId: string,
  typed: string | undefined,
): string | undefined {
  const expected = confirmationOf(confirm, requestId);
  if (expected === undefined || typed === expected) return undefined;
  return confirm.kind === "type"
    ? "must be exactly the text of requirement.confirm"
    : `must be the last ${MATCHED_CHARS} characters of the request's id`;
}

/** Whether a note has no visible character. */
export function isBlank(note: string | undefined): boolean {
  return !/[^\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u.test(note ?? "");
}

/** What this program can ask for; a newer one may have stored another kind. */
const CONFIRMS: readonly string[] = ["click", "type", "match", "passkey"];

const UNKNOWN_CONFIRM =
  "This call requires a confirmation that this server does not support. You can only deny it.";

const NO_PERSON = "This call requires a passkey. Sign in with a browser; a token can only deny it.";

const NO_PASSKEY =
  "This call requires a passkey, and you have none. Add one to your account first.";

const TOO_MANY_ATTEMPTS =
  "You have sent three wrong confirmations, so you cannot approve this call any more.";

const NO_BOTS = "Bots cannot approve this call: no rule has `bots: true`. You can only deny it.";

function isNamed({ from }: Requirement, decider: Decider): boolean {
  // Who decides for a group alone decides only what asks that group.
  if (from.length === 0) return decider.forGroups === null;
  return from.some((set) => belongs(set, decider));
}

function belongs(set: readonly string[], { name, groups, forGroups }: Decider): boolean {
  const isNamed = (group: string): boolean => set.includes(`group:${group}`);
  if (forGroups === null) return set.includes(`reviewer:${name}`) || groups.some(isNamed);
  return groups.some((group) => forGroups.includes(group) && isNamed(group));
}

/** More of them make no sentence. */
const NAMES_SHOWN_MAX = 10;

function notNamed({ from }: Requirement, { forGroups }: Decider): string {
  if (forGroups !== null) {
    const scopes = forGroups.map((group) => `decide:${group}`).join(", ");
    return `The scopes of this token (${scopes}) do not cover this call.`;
  }
  const names = [...new Set(from.flat())].sort();
  const shown = names.slice(0, NAMES_SHOWN_MAX).join(", ");
  const more =
    names.length > NAMES_SHOWN_MAX ? ` and ${names.length - NAMES_SHOWN_MAX} others` : "";
  return `Only ${shown}${more} may decide this call.`;
}
