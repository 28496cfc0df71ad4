import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { allows, powersOf, type ReviewerRole } from "../../core/roles.ts";
import { isOpaque } from "../../secrets/opaque.ts";
import { hashToken } from "../../secrets/token.ts";
import { readProjectName, readReviewer } from "../../storage/sql/access/holders.ts";
import { hasPerson, readPerson } from "../../storage/sql/people/people.ts";
import {
  readInvitationByHash,
  type StoredInvitation,
} from "../../storage/sql/sign-in/invitations.ts";
import type { Reader } from "../../storage/store.ts";

/** What a link is for, as its page tells who follows it. */
export interface OpenInvitation {
  /** `setup`: the first person of the server; `return`: somebody who lost their keys. */
  readonly kind: "setup" | "join" | "return";
  /** Null for somebody who comes back. */
  readonly project: string | null;
  readonly role: ReviewerRole | null;
  readonly groups: readonly string[];
  /** Of the reviewer to be, or of who comes back; empty where it is theirs to choose. */
  readonly name: string;
  /** Of who comes back. */
  readonly login: string | null;
  readonly expiresAt: number;
}

/**
 * Looks at a link without using it.
 *
 * @throws Problem `not_found` for one that is unknown, used, expired or revoked, all alike
 */
export async function openInvitation(
  { store, clock }: Pick<Context, "store" | "clock">,
  token: string,
): Promise<OpenInvitation> {
  const invitation = isOpaque(token)
    ? await readInvitationByHash(store, hashToken(token))
    : undefined;
  const { projectId, personId, name, role, groups, expiresAt } = await assertUsable(
    store,
    invitation,
    clock.now(),
  );
  if (personId !== null) {
    const person = await readPerson(store, personId);
    if (person === undefined || person.disabledAt !== null) throw GONE;
    const { login } = person;
    const what = { kind: "return", project: null, role: null, groups: [] } as const;
    return { ...what, name: person.name, login, expiresAt };
  }
  const project = await readProjectName(store, projectId);
  if (project === undefined) throw GONE;
  const kind = invitation?.createdBy === "system:setup" ? "setup" : "join";
  return { kind, project, role, groups, name, login: null, expiresAt };
}

export const GONE = new Problem(
  "not_found",
  "This link is not valid: it was used, has expired or was taken back.",
);

/**
 * @param now epoch ms; where the invitation is to be used, read after it was locked
 * @throws Problem `not_found`
 */
export async function assertUsable(
  reader: Reader,
  invitation: StoredInvitation | undefined,
  now: number,
): Promise<StoredInvitation> {
  if (invitation === undefined || invitation.usedAt !== null || invitation.expiresAt <= now) {
    throw GONE;
  }
  // The first person is made once, whatever links were printed before.
  if (invitation.createdBy === "system:setup" && (await hasPerson(reader))) throw GONE;
  if (!(await isMeant(reader, invitation))) throw GONE;
  return invitation;
}

/** Whether who invited could still do so: who was removed comes back by no link of their own. */
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
