/**
 * Evaluates requirements as pure functions: who may decide a request, what an approval must
 * include, and when the quorum is complete.
 *
 * core/roles.ts decides whether a role may decide at all.
 */

import type { ConfirmationKind, Requirement } from "./rule.ts";

/** A reviewer with the names that rules can use. */
export interface Decider {
  readonly id: string;
  readonly name: string;
  readonly groups: readonly string[];
  readonly isBot: boolean;
  /** Groups to which the token restricts verdicts; null: no restriction. */
  readonly forGroups: readonly string[] | null;
}

/** Owner and id of the call's instance. */
export interface CallOwnership {
  /** A reviewer; null when the instance has no owner. */
  readonly ownerId: string | null;
  readonly instanceId: string;
}

/**
 * Why this reviewer may not approve, as a sentence; undefined when permitted. An unknown excluded
 * owner excludes all reviewers, because any of them could be the owner.
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
      "This call excludes the owner of its instance, but the instance has no owner. " +
      `Set one with countersign instances set ${instanceId} --owner NAME.`
    );
  }
  return ownerId === decider.id
    ? "The owner of the instance may not approve this call."
    : undefined;
}

/** True when an approval must be signed with a passkey. */
export function needsPasskey({ confirm }: Requirement): boolean {
  return confirm.kind === "passkey";
}

/** Why this caller cannot sign an approval with a passkey; undefined when possible. */
export function passkeyRefusal({
  isPerson,
  hasPasskey,
}: {
  /** True for a session, false for a token. */
  readonly isPerson: boolean;
  readonly hasPasskey: boolean;
}): string | undefined {
  if (!isPerson) return NO_PERSON;
  return hasPasskey ? undefined : NO_PASSKEY;
}

/** Failed confirmations on one request, after which its reviewer cannot approve it. */
export const FAILED_ATTEMPTS_MAX = 3;

/** Why a reviewer with this many failed attempts cannot approve; undefined when possible. */
export function failedAttemptsRefusal(attempts: number): string | undefined {
  return attempts < FAILED_ATTEMPTS_MAX ? undefined : TOO_MANY_ATTEMPTS;
}

/**
 * As {@link approvalRefusal}, for a denial: any one named reviewer may deny, and so may the owner.
 */
export function denialRefusal(
  requirement: Requirement,
  decider: Decider,
  { ownerId }: Pick<CallOwnership, "ownerId">,
): string | undefined {
  const isOwner = ownerId === decider.id && decider.forGroups === null;
  return isNamed(requirement, decider) || isOwner ? undefined : notNamed(requirement, decider);
}

/**
 * True when these approvers fulfil the requirement.
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

/** True when one approval may not be sufficient, so votes are stored. */
export function collectsVotes({ from, quorum }: Requirement): boolean {
  return quorum > 1 || from.length > 1;
}

/** How many characters of an id the confirmation `match` requires. */
const MATCHED_CHARS = 4;

/** The confirmation that a verdict must contain; undefined: none. */
export function confirmationOf(confirm: ConfirmationKind, requestId: string): string | undefined {
  if (confirm.kind === "type") return confirm.text;
  return confirm.kind === "match" ? requestId.slice(-MATCHED_CHARS) : undefined;
}

/**
 * The fault of a confirmation, as the end of a sentence that starts with its field; undefined when
 * it is correct.
 */
export function confirmationFault(
  confirm: ConfirmationKind,
  requestId: string,
  typed: string | undefined,
): string | undefined {
  const expected = confirmationOf(confirm, requestId);
  if (expected === undefined || typed === expected) return undefined;
  return confirm.kind === "type"
    ? "must be the exact text that the request shows"
    : `must be the last ${MATCHED_CHARS} characters of the request's id`;
}

/** True when a note has no visible character. */
export function isBlank(note: string | undefined): boolean {
  return !/[^\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u.test(note ?? "");
}

/** Supported kinds. A newer program may have stored another one. */
const CONFIRMS: readonly string[] = ["click", "type", "match", "passkey"];

const UNKNOWN_CONFIRM =
  "This call requires a confirmation that this server does not support. You can only deny it.";

const NO_PERSON = "This call requires a passkey. Sign in with a browser; a token can only deny it.";

const NO_PASSKEY =
  "This call requires a passkey, and you have none. Add one to your account first.";

const TOO_MANY_ATTEMPTS =
  "You have sent three wrong confirmations, so you cannot approve this call any more.";

const NO_BOTS =
  "Bots cannot approve this call: no rule has `bots: true`, or the call needs a person. " +
  "You can only deny it.";

function isNamed({ from }: Requirement, decider: Decider): boolean {
  // A restriction to groups permits only calls that require one of them.
  if (from.length === 0) return decider.forGroups === null;
  return from.some((set) => belongs(set, decider));
}

function belongs(set: readonly string[], { name, groups, forGroups }: Decider): boolean {
  const isNamed = (group: string): boolean => set.includes(`group:${group}`);
  if (forGroups === null) return set.includes(`reviewer:${name}`) || groups.some(isNamed);
  return groups.some((group) => forGroups.includes(group) && isNamed(group));
}

/** Maximum names in a message. */
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
