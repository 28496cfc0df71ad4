/**
 * Uses a link, for a new reviewer or a returning user; the only function that does. The credential
 * (a password, a passkey or an account at an identity provider) is bound in the same transaction,
 * so no user is left without one, and no link is used without effect.
 */

import { invalidField, Problem, uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { toGroups } from "../../core/groups.ts";
import { parseLogin, parsePersonName } from "../../core/login.ts";
import { hashToken } from "../../secrets/token.ts";
import { ensureReviewer, lockReviewerByName } from "../../storage/sql/access/holders.ts";
import { reassignOwned } from "../../storage/sql/instances/instances.ts";
import {
  bindReviewer,
  detachRemovedReviewer,
  insertPerson,
  lockPerson,
  readMembership,
  type StoredPerson,
} from "../../storage/sql/people/people.ts";
import {
  lockInvitationByHash,
  markInvitationUsed,
  type StoredInvitation,
} from "../../storage/sql/sign-in/invitations.ts";
import type { Transaction } from "../../storage/store.ts";
import { endSessionsOf } from "../access/endSessions.ts";
import { assertInvitationUsable, INVITATION_NOT_FOUND } from "./assertInvitationUsable.ts";

/** The use of a link. */
export interface InvitationUse {
  /** The token of the link. */
  readonly token: string;
  /** Login of a new user; ignored for others. */
  readonly login?: string | undefined;
  /** Display name of a new user; by default the name in the invitation. */
  readonly name?: string | undefined;
  /** A signed-in user who becomes a reviewer of another project. */
  readonly personId?: string | undefined;
}

export interface UsedInvitation {
  readonly person: StoredPerson;
  /** The joined project; undefined for a returning user. */
  readonly projectId: string | undefined;
}

/**
 * Stores the credential of the user in the transaction that uses the link. The row of the user is
 * stored and locked. Not called for a signed-in user.
 */
export type BindKey = (tx: Transaction, person: StoredPerson, now: number) => Promise<void>;

/**
 * Uses a link: creates the user and the reviewer, adds a reviewer to a signed-in user, or gives a
 * returning user a new credential and ends their sessions. It starts no session: see createSession.
 *
 * @throws Problem `not_found` when the link cannot be used; `invalid_request` naming the field,
 * also for a taken login or name; and problems of `bind`. The link stays unused then.
 */
export async function useInvitation(
  tx: Transaction,
  context: Pick<Context, "random">,
  use: InvitationUse,
  bind: BindKey,
): Promise<UsedInvitation> {
  const tokenHash = hashToken(use.token);
  const locked = await lockInvitationByHash(tx, tokenHash);
  const now = await tx.now();
  const invitation = await assertInvitationUsable(tx, locked, now);
  await markInvitationUsed(tx, tokenHash, now);
  const person = await personOf(tx, context, invitation, use, now);
  await appendAudit(tx, context.random, {
    at: now,
    projectId: invitation.projectId,
    kind: "invitation.used",
    actor: `person:${person.id}`,
    subject: `invitation:${invitation.id}`,
    detail: { person_id: person.id },
  });
  const isBack = invitation.personId !== null;
  if (isBack || use.personId === undefined) await bind(tx, person, now);
  if (isBack) {
    const end = { by: `person:${person.id}`, because: "came back by a link" } as const;
    await endSessionsOf(tx, context, person.id, end);
    return { person, projectId: undefined };
  }
  await joinProject(tx, context, invitation, person, now);
  return { person, projectId: invitation.projectId };
}

async function personOf(
  tx: Transaction,
  context: Pick<Context, "random">,
  invitation: StoredInvitation,
  use: InvitationUse,
  now: number,
): Promise<StoredPerson> {
  const knownId = invitation.personId ?? use.personId;
  if (knownId === undefined) return makePerson(tx, context, invitation, use, now);
  const person = await lockPerson(tx, "update", knownId);
  if (person === undefined || person.disabledAt !== null) throw INVITATION_NOT_FOUND;
  return person;
}

async function makePerson(
  tx: Transaction,
  { random }: Pick<Context, "random">,
  invitation: StoredInvitation,
  use: InvitationUse,
  now: number,
): Promise<StoredPerson> {
  if (use.login === undefined) throw invalidField("login", "is required");
  const person: StoredPerson = {
    id: uuidV7(now, random.bytes(10)),
    login: parseLogin(use.login),
    name: parsePersonName(use.name ?? invitation.name),
    passwordHash: null,
    oidcSubject: null,
    createdAt: now,
    disabledAt: null,
  };
  if (!(await insertPerson(tx, person))) throw invalidField("login", "is taken");
  await appendAudit(tx, random, {
    at: now,
    projectId: "",
    kind: "person.created",
    actor: `person:${person.id}`,
    subject: `person:${person.id}`,
    detail: { login: person.login, invitation_id: invitation.id },
  });
  return person;
}

/** Makes the user the invited reviewer: a new one, or an existing one with tokens only. */
async function joinProject(
  tx: Transaction,
  { random }: Pick<Context, "random">,
  { projectId, name, role, groups }: StoredInvitation,
  person: StoredPerson,
  now: number,
): Promise<void> {
  if ((await readMembership(tx, projectId, person.id)) !== undefined) {
    throw new Problem("invalid_request", "You are already a reviewer of this project.");
  }
  const newId = uuidV7(now, random.bytes(10));
  const order = {
    id: newId,
    name: name || person.name,
    role,
    groups: toGroups(groups),
    isBot: false,
    personId: person.id,
  };
  const made = await ensureReviewer(tx, projectId, order, now);
  if (made.id !== newId) {
    await assertFree(tx, projectId, order);
    await bindReviewer(tx, projectId, made.id, person.id);
  }
  await takeInstances(tx, { random }, { projectId, personId: person.id }, made.id, now);
  await detachRemovedReviewer(tx, projectId, person.id);
  await appendAudit(tx, random, {
    at: now,
    projectId,
    kind: made.id === newId ? "reviewer.created" : "reviewer.updated",
    actor: `person:${person.id}`,
    subject: `reviewer:${made.id}`,
    detail: { person_id: person.id, role, groups: order.groups },
  });
}

/**
 * A returning user becomes the owner of the same instances again, for rules that exclude owners.
 */
async function takeInstances(
  tx: Transaction,
  { random }: Pick<Context, "random">,
  was: { readonly projectId: string; readonly personId: string },
  ownerId: string,
  now: number,
): Promise<void> {
  for (const { id, groups } of await reassignOwned(tx, was, ownerId)) {
    await appendAudit(tx, random, {
      at: now,
      projectId: was.projectId,
      kind: "instance.grouped",
      actor: `person:${was.personId}`,
      subject: `instance:${id}`,
      detail: { groups, owner_id: ownerId },
    });
  }
}

/**
 * Checks that the user can become the invited reviewer: an existing one must have tokens only, and
 * the role and groups of the invitation.
 *
 * @throws Problem `invalid_request` when the reviewer belongs to another user, or differs
 */
async function assertFree(
  tx: Transaction,
  projectId: string,
  { name, role, groups }: Pick<StoredInvitation, "name" | "role" | "groups">,
): Promise<void> {
  const reviewer = await lockReviewerByName(tx, projectId, name);
  const isFree =
    reviewer !== undefined &&
    !reviewer.isBot &&
    reviewer.personId === null &&
    reviewer.removedAt === null &&
    reviewer.role === role &&
    toGroups(reviewer.groups).join() === groups.join();
  if (!isFree) {
    const message = "Another reviewer of the project has this name.";
    throw new Problem("invalid_request", message, { param: "name" });
  }
}
