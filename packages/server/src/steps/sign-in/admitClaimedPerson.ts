/**
 * Updates a user from the claims of an identity provider: the user, created at the first sign-in,
 * and a reviewer in each project with a role. A user whom the provider sends over SCIM has the
 * name, roles and groups of SCIM, which are newer than those of an id token.
 */

import { Problem, uuidV7 } from "@countersign/protocol";
import { type AuditEntry, appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { ClaimedPerson } from "../../core/claims.ts";
import {
  insertPerson,
  listMemberships,
  lockPerson,
  type StoredPerson,
} from "../../storage/sql/people/people.ts";
import {
  hasScimToken,
  isProvisioned,
  readExternalId,
  readPersonIdByExternalId,
  readPersonIdBySubject,
  renamePerson,
  updateExternalId,
  updateSubject,
} from "../../storage/sql/sign-in/oidc-people.ts";
import type { Transaction } from "../../storage/store.ts";
import { settleReviewers } from "./settleReviewers.ts";

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
  readonly context: Pick<Context, "random" | "settings" | "onLastAdminLost">;
  readonly claimed: ClaimedPerson;
  readonly now: number;
}

/**
 * @throws Problem `sign_in_refused` when the login or a reviewer's name is taken; the transaction
 * must not commit then
 */
export async function admitClaimedPerson(
  tx: Transaction,
  context: Pick<Context, "random" | "settings" | "onLastAdminLost">,
  claimed: ClaimedPerson,
): Promise<Admission> {
  const knownId = await readPersonIdBySubject(tx, claimed.subject);
  const found = knownId ?? (await findProvisioned(tx, claimed));
  const known = found === undefined ? undefined : await lockPerson(tx, "update", found);
  const admitting = { tx, context, claimed, now: await tx.now() };
  if (known === undefined && (await hasScimToken(tx, admitting.now))) {
    return { refusal: NOT_PROVISIONED };
  }
  if (known === undefined && claimed.memberships.length === 0) return { refusal: NO_ROLE };
  const person = known ?? (await makePerson(admitting));
  if (person.disabledAt !== null) {
    return refuse(admitting, person, "disabled", "Your account is disabled.");
  }
  await rememberExternalId(admitting, person);
  if (await isProvisioned(tx, person.id)) return admitProvisioned(admitting, person);
  await rename(admitting, person);
  const settling = { ...admitting, actor: SIGN_IN, isDisabled: false } as const;
  const projects = await settleReviewers(settling, person);
  if (projects.length === 0) return refuse(admitting, person, "no role", NO_ROLE);
  return { refusal: undefined, personId: person.id, projectId: projects[0] };
}

const NO_ROLE =
  "Your account has no role on this server. Ask its operator to map one of your groups to a " +
  "role with oidc_roles.";

/** With SCIM, an account that a sign-in creates could be the second one of a user. */
const NOT_PROVISIONED =
  "The identity provider did not send your account over SCIM. Ask its administrator to assign " +
  "this application to you.";

/**
 * The account that SCIM created for the user. Never an account that signs in in another way: SCIM
 * alone does not prove who its owner is.
 */
async function findProvisioned(
  tx: Transaction,
  { externalId }: ClaimedPerson,
): Promise<string | undefined> {
  if (externalId === undefined) return undefined;
  const id = await readPersonIdByExternalId(tx, externalId);
  return id !== undefined && (await isProvisioned(tx, id)) ? id : undefined;
}

/**
 * @throws Problem `sign_in_refused` when the user has two accounts: a removal over SCIM would
 * disable only one of them
 */
async function rememberExternalId(admitting: Admitting, { id }: StoredPerson): Promise<void> {
  const { tx, claimed } = admitting;
  const { externalId } = claimed;
  if (externalId === undefined) return;
  const owner = await readPersonIdByExternalId(tx, externalId);
  if (owner === undefined && (await readExternalId(tx, id)) === null) {
    await updateExternalId(tx, id, externalId);
  }
  if (owner === undefined || owner === id || !(await isProvisioned(tx, owner))) return;
  throw new Problem(
    "sign_in_refused",
    "Your account and another account have the same user at the identity provider. Ask the " +
      "operator to delete one of them: see the guide to SCIM.",
  );
}

async function admitProvisioned(admitting: Admitting, person: StoredPerson): Promise<Admission> {
  const { tx, claimed } = admitting;
  if (person.oidcSubject === null) {
    await updateSubject(tx, person.id, claimed.subject);
    const detail = { oidc_subject: claimed.subject };
    await appendEntry(admitting, {
      kind: "person.updated",
      subject: `person:${person.id}`,
      detail,
    });
  } else if (person.oidcSubject !== claimed.subject) {
    throw new Problem(
      "sign_in_refused",
      "Your account is linked to another user of the identity provider. Ask the operator to run " +
        `\`countersign people link\` for the login ${person.login}.`,
    );
  }
  const [first] = await listMemberships(tx, person.id);
  if (first === undefined) return refuse(admitting, person, "no role", NO_ROLE);
  return { refusal: undefined, personId: person.id, projectId: first.projectId };
}

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

function appendEntry(
  { tx, context, now }: Admitting,
  entry: Omit<AuditEntry, "at" | "projectId" | "actor">,
): Promise<void> {
  return appendAudit(tx, context.random, { ...entry, at: now, projectId: "", actor: SIGN_IN });
}
