/**
 * Updates a user from the claims of an identity provider: the user, created at the first sign-in,
 * and a reviewer in each project with a role. The provider overrides manual changes, except that a
 * manually removed reviewer stays removed.
 */

import { Problem, uuidV7 } from "@countersign/protocol";
import { type AuditEntry, appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { ClaimedPerson, ClaimMapping, Membership } from "../../core/claims.ts";
import { ensureProject } from "../../storage/sql/access/holders.ts";
import { insertPerson, lockPerson, type StoredPerson } from "../../storage/sql/people/people.ts";
import {
  insertManagedReviewer,
  listPersonsReviewers,
  type PersonsReviewer,
  readPersonIdBySubject,
  removeManaged,
  renamePerson,
  updateManaged,
} from "../../storage/sql/sign-in/oidc-people.ts";
import type { Transaction } from "../../storage/store.ts";
import { newProjectId } from "../tokens/newProjectId.ts";

export type Admission =
  | {
      readonly refusal: undefined;
      readonly personId: string;
      /** The first project in which the user has a role. */
      readonly projectId: string | undefined;
    }
  /**
   * The sign-in is rejected, but the changes are committed. The reason is a sentence for the user.
   */
  | { readonly refusal: string };

interface Admitting {
  readonly tx: Transaction;
  readonly context: Pick<Context, "random" | "settings">;
  readonly claimed: ClaimedPerson;
  readonly now: number;
}

/**
 * @throws Problem `sign_in_refused` when the login or a reviewer's name is taken; the transaction
 * must not commit then
 */
export async function admitClaimedPerson(
  tx: Transaction,
  context: Pick<Context, "random" | "settings">,
  claimed: ClaimedPerson,
): Promise<Admission> {
  const knownId = await readPersonIdBySubject(tx, claimed.subject);
  const known = knownId === undefined ? undefined : await lockPerson(tx, "update", knownId);
  const admitting = { tx, context, claimed, now: await tx.now() };
  if (known === undefined && claimed.memberships.length === 0) return { refusal: NO_ROLE };
  const person = known ?? (await makePerson(admitting));
  if (person.disabledAt !== null) {
    return refuse(admitting, person, "disabled", "Your account is disabled.");
  }
  await rename(admitting, person);
  const projects = await settleReviewers(admitting, person);
  if (projects.length === 0) return refuse(admitting, person, "no role", NO_ROLE);
  return { refusal: undefined, personId: person.id, projectId: projects[0] };
}

const NO_ROLE =
  "Your account has no role on this server. Ask its operator to map one of your groups to a " +
  "role with oidc_roles.";

async function refuse(
  { tx, context, now }: Admitting,
  { id }: StoredPerson,
  because: string,
  refusal: string,
): Promise<Admission> {
  await appendAudit(tx, context.random, {
    at: now,
    projectId: "",
    kind: "signin.refused",
    actor: SIGN_IN,
    subject: `person:${id}`,
    detail: { method: "oidc", because },
  });
  return { refusal };
}

const SIGN_IN = "system:sign-in";

async function makePerson(admitting: Admitting): Promise<StoredPerson> {
  const { tx, context, claimed, now } = admitting;
  const { login, name, subject } = claimed;
  const person: StoredPerson = {
    id: uuidV7(now, context.random.bytes(10)),
    login,
    name,
    oidcSubject: subject,
    passwordHash: null,
    createdAt: now,
    disabledAt: null,
  };
  // The owner of an existing login signs in with another method.
  if (!(await insertPerson(tx, person))) {
    throw new Problem(
      "sign_in_refused",
      `Another account has the login ${login}. If it is yours, ask the operator to run: ` +
        `countersign people link ${quote(login)} ` +
        `--subject ${quote(subjectOf(claimed))}`,
    );
  }
  const detail = { login, name, oidc_subject: subject };
  await appendEntry(admitting, { kind: "person.created", subject: `person:${person.id}`, detail });
  return person;
}

/** Quotes for a shell. */
function quote(text: string): string {
  return /^[\w.@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function subjectOf({ subject }: ClaimedPerson): string {
  return (JSON.parse(subject) as [string, string])[1];
}

async function rename(admitting: Admitting, { id, name: before }: StoredPerson): Promise<void> {
  const { name } = admitting.claimed;
  if (name === before) return;
  await renamePerson(admitting.tx, id, name);
  await appendEntry(admitting, {
    kind: "person.updated",
    subject: `person:${id}`,
    detail: { name },
  });
}

/**
 * @returns the ids of the projects in which the user now has a role, in the order of the mappings
 */
async function settleReviewers(admitting: Admitting, person: StoredPerson): Promise<string[]> {
  const { tx, context, claimed, now } = admitting;
  const reviewers = await listPersonsReviewers(tx, person.id);
  const settled: string[] = [];
  for (const membership of claimed.memberships) {
    const newId = newProjectId(context.random);
    const projectId = await ensureProject(tx, membership.project, newId, now);
    const there = reviewers.filter((reviewer) => reviewer.projectId === projectId);
    const isAssigned = await assignMembership(
      admitting,
      person,
      { ...membership, projectId },
      there,
    );
    if (isAssigned) settled.push(projectId);
  }
  const others = reviewers.filter(({ projectId, removedAt }) => {
    return removedAt === null && !settled.includes(projectId);
  });
  for (const reviewer of others) {
    if (isOurs(reviewer, context.settings.oidc?.mapping)) settled.push(reviewer.projectId);
    else await removeMembership(admitting, reviewer);
  }
  return settled;
}

/** True when the reviewer is managed on this server and not by the provider. */
function isOurs(
  { isManaged, projectName }: PersonsReviewer,
  mapping: ClaimMapping | undefined,
): boolean {
  const mapped = mapping?.roles.map(({ project }) => project) ?? [];
  return !isManaged && ![...mapped, mapping?.project].includes(projectName);
}

/** @returns false when the reviewer was removed manually */
async function assignMembership(
  admitting: Admitting,
  person: StoredPerson,
  { projectId, role }: Membership & { readonly projectId: string },
  there: readonly PersonsReviewer[],
): Promise<boolean> {
  const { tx, claimed } = admitting;
  const { groups } = claimed;
  const reviewer =
    there.find(({ removedAt }) => removedAt === null) ?? there.find(({ isManaged }) => isManaged);
  if (reviewer === undefined) {
    if (there.length > 0) return false;
    await makeReviewer(admitting, person, { projectId, role });
    return true;
  }
  const after = { ...reviewer, role, groups };
  if (!(await updateManaged(tx, after))) return false;
  const isSame =
    reviewer.removedAt === null &&
    reviewer.role === role &&
    reviewer.groups.join() === groups.join();
  if (isSame) return true;
  const subject = `reviewer:${reviewer.id}`;
  await appendEntry(admitting, {
    kind: "reviewer.updated",
    projectId,
    subject,
    detail: { role, groups },
  });
  return true;
}

/** Uses the unique login as the name, because policies can name reviewers. */
async function makeReviewer(
  admitting: Admitting,
  { id: personId, login: name }: StoredPerson,
  { projectId, role }: Pick<PersonsReviewer, "projectId" | "role">,
): Promise<void> {
  const { tx, context, claimed, now } = admitting;
  const { groups } = claimed;
  const id = uuidV7(now, context.random.bytes(10));
  const order = { id, projectId, role, groups };
  if (!(await insertManagedReviewer(tx, order, { personId, name, now }))) {
    throw new Problem(
      "sign_in_refused",
      `Another reviewer of a project has the name ${name}. Ask the operator to link the ` +
        "accounts: see the guide to signing in at a provider.",
    );
  }
  const detail = { role, groups, person_id: personId };
  await appendEntry(admitting, {
    kind: "reviewer.created",
    projectId,
    subject: `reviewer:${id}`,
    detail,
  });
}

async function removeMembership(admitting: Admitting, reviewer: PersonsReviewer): Promise<void> {
  const { tx, now } = admitting;
  if (!(await removeManaged(tx, reviewer, now))) return;
  const { id, projectId } = reviewer;
  await appendEntry(admitting, {
    kind: "reviewer.removed",
    projectId,
    subject: `reviewer:${id}`,
    detail: { because: "the identity provider gives no role" },
  });
}

function appendEntry(
  { tx, context, now }: Admitting,
  entry: Omit<AuditEntry, "at" | "projectId" | "actor"> & { readonly projectId?: string },
): Promise<void> {
  const { projectId = "" } = entry;
  return appendAudit(tx, context.random, { ...entry, at: now, projectId, actor: SIGN_IN });
}
