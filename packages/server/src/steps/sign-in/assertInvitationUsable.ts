import { Problem } from "@countersign/protocol";
import { allows, powersOf } from "../../core/roles.ts";
import { readReviewer } from "../../storage/sql/access/holders.ts";
import { hasPerson, readPerson } from "../../storage/sql/people/people.ts";
import type { StoredInvitation } from "../../storage/sql/sign-in/invitations.ts";
import type { Reader } from "../../storage/store.ts";

export const INVITATION_NOT_FOUND = new Problem(
  "not_found",
  "This link was already used, has expired or was revoked. Ask for a new one.",
);

/**
 * Checks that an invitation can still be used, and that its author could still invite.
 *
 * @param now epoch ms, read after the lock when the invitation is used
 * @throws Problem `not_found`
 */
export async function assertInvitationUsable(
  reader: Reader,
  invitation: StoredInvitation | undefined,
  now: number,
): Promise<StoredInvitation> {
  if (invitation === undefined || invitation.usedAt !== null || invitation.expiresAt <= now) {
    throw INVITATION_NOT_FOUND;
  }
  // The first user is created once, also when several links were printed.
  if (invitation.createdBy === "system:setup" && (await hasPerson(reader)))
    throw INVITATION_NOT_FOUND;
  if (!(await isMeant(reader, invitation))) throw INVITATION_NOT_FOUND;
  return invitation;
}

/** True when the inviter could still invite. A removed inviter cannot return with an own link. */
async function isMeant(
  reader: Reader,
  { projectId, role, createdBy }: StoredInvitation,
): Promise<boolean> {
  if (!createdBy.startsWith(REVIEWER)) return true;
  const id = createdBy.slice(REVIEWER.length);
  const inviter = await readReviewer(reader, { projectId, id });
  if (inviter === undefined || inviter.removedAt !== null) return false;
  if (!allows(inviter.role, "people")) return false;
  if (!powersOf(role).every((power) => allows(inviter.role, power))) return false;
  const person = inviter.personId && (await readPerson(reader, inviter.personId));
  return !person || person.disabledAt === null;
}

const REVIEWER = "reviewer:";
