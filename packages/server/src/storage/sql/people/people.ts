/**
 * Rows of the table `person`, and what a person is in projects. People are of the whole server;
 * what they may do is said by the reviewer that they are in a project.
 */

import type { ReviewerRole } from "../../../core/roles.ts";
import type { Reader, Row, Transaction } from "../../store.ts";
import { parseNames } from "../names.ts";

export interface StoredPerson {
  readonly id: string;
  /** Normalized by core/login.ts. */
  readonly login: string;
  /** How others see them. */
  readonly name: string;
  /** As secrets/password-hasher.ts writes it; null without a password. */
  readonly passwordHash: string | null;
  /** JSON array of issuer and subject; null for a user with a local login. */
  readonly oidcSubject: string | null;
  readonly createdAt: number;
  readonly disabledAt: number | null;
}

/** The reviewer that a person is in a project; never one who was removed. */
export interface Membership {
  readonly projectId: string;
  readonly projectName: string;
  readonly reviewerId: string;
  /** Of the reviewer. */
  readonly name: string;
  readonly role: ReviewerRole;
  readonly groups: readonly string[];
}

const COLUMNS = "id, login, name, password_hash, oidc_subject, created_at, disabled_at";

/**
 * @param externalId id at the identity provider
 * @returns whether login and ids were free; a concurrent insertion is waited for
 */
export async function insertPerson(
  tx: Transaction,
  person: StoredPerson,
  externalId: string | null = null,
): Promise<boolean> {
  const { id, login, name, passwordHash, oidcSubject, createdAt, disabledAt } = person;
  const inserted = await tx.run(
    `insert into person
       (id, login, name, password_hash, oidc_subject, created_at, disabled_at, external_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict do nothing`,
    [id, login, name, passwordHash, oidcSubject, createdAt, disabledAt, externalId],
  );
  return inserted === 1;
}

export async function readPerson(reader: Reader, id: string): Promise<StoredPerson | undefined> {
  return toPerson(await reader.get(`select ${COLUMNS} from person where id = $1`, [id]));
}

export async function lockPerson(
  tx: Transaction,
  mode: "update" | "share",
  id: string,
): Promise<StoredPerson | undefined> {
  return toPerson(await tx.lock(mode, `select ${COLUMNS} from person where id = $1`, [id]));
}

export async function readPersonByLogin(
  reader: Reader,
  login: string,
): Promise<StoredPerson | undefined> {
  return toPerson(await reader.get(`select ${COLUMNS} from person where login = $1`, [login]));
}

/** Whether an account exists, enabled or disabled. */
export async function hasPerson(reader: Reader): Promise<boolean> {
  return (await reader.get("select id from person limit 1")) !== undefined;
}

export async function updatePasswordHash(
  tx: Transaction,
  personId: string,
  passwordHash: string | null,
): Promise<void> {
  await tx.run("update person set password_hash = $2 where id = $1", [personId, passwordHash]);
}

/** Disables a user. */
export async function disablePersonRow(
  tx: Transaction,
  personId: string,
  disabledAt: number,
  disabledBy: "operator" | "scim",
): Promise<void> {
  const sql = "update person set disabled_at = $2, disabled_by = $3 where id = $1";
  await tx.run(sql, [personId, disabledAt, disabledBy]);
}

export async function enablePersonRow(tx: Transaction, personId: string): Promise<void> {
  const sql = "update person set disabled_at = null, disabled_by = null where id = $1";
  await tx.run(sql, [personId]);
}

/** Whether the identity provider disabled the user over SCIM. */
export async function isDisabledByScim(reader: Reader, personId: string): Promise<boolean> {
  const row = await reader.get("select disabled_by from person where id = $1", [personId]);
  return row?.disabled_by === "scim";
}

/** All of them, by login. */
export async function listPersons(
  reader: Reader,
): Promise<(StoredPerson & { readonly hasPasskey: boolean })[]> {
  const rows = await reader.all(
    `select ${COLUMNS}, (select count(*) from passkey where person_id = person.id) as passkeys
     from person order by login`,
    [],
  );
  return rows.flatMap((row) => {
    const person = toPerson(row);
    return person === undefined ? [] : [{ ...person, hasPasskey: Number(row.passkeys) > 0 }];
  });
}

/** Undefined when the user is not, or no longer, a reviewer of the project. */
export async function readMembership(
  reader: Reader,
  projectId: string,
  personId: string,
): Promise<Membership | undefined> {
  const row = await reader.get(
    `select reviewer.project_id as project_id, project.name as project_name,
       reviewer.id as reviewer_id, reviewer.name as name, reviewer.role as role,
       reviewer.group_names as group_names
     from reviewer join project on project.id = reviewer.project_id
     where reviewer.project_id = $1 and reviewer.person_id = $2 and reviewer.removed_at is null
       and reviewer.kind = 'person'`,
    [projectId, personId],
  );
  return row === undefined ? undefined : toMembership(row);
}

/** All that a person is, by the names of the projects. */
export async function listMemberships(reader: Reader, personId: string): Promise<Membership[]> {
  const rows = await reader.all(
    `select reviewer.project_id as project_id, project.name as project_name,
       reviewer.id as reviewer_id, reviewer.name as name, reviewer.role as role,
       reviewer.group_names as group_names
     from reviewer join project on project.id = reviewer.project_id
     where reviewer.person_id = $1 and reviewer.removed_at is null and reviewer.kind = 'person'
     order by project.name`,
    [personId],
  );
  return rows.map(toMembership);
}

/** Makes a reviewer that was there a person. */
export async function bindReviewer(
  tx: Transaction,
  projectId: string,
  reviewerId: string,
  personId: string,
): Promise<void> {
  await tx.run("update reviewer set person_id = $3 where project_id = $1 and id = $2", [
    projectId,
    reviewerId,
    personId,
  ]);
}

/** Detaches the account from a removed reviewer, so that it can become another one there. */
export async function detachRemovedReviewer(
  tx: Transaction,
  projectId: string,
  personId: string,
): Promise<void> {
  await tx.run(
    `update reviewer set person_id = null
     where project_id = $1 and person_id = $2 and removed_at is not null`,
    [projectId, personId],
  );
}

/** A passkey as its owner knows it. */
export interface NamedPasskey {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly usedAt: number | null;
}

export async function listPasskeyNames(reader: Reader, personId: string): Promise<NamedPasskey[]> {
  const rows = await reader.all(
    `select id, name, created_at, used_at from passkey where person_id = $1
     order by created_at, id`,
    [personId],
  );
  return rows.map((row) => ({
    id: row.id as string,
    name: row.name as string,
    createdAt: Number(row.created_at),
    usedAt: row.used_at === null ? null : Number(row.used_at),
  }));
}

function toPerson(row: Row | undefined): StoredPerson | undefined {
  if (row === undefined) return undefined;
  return {
    id: row.id as string,
    login: row.login as string,
    name: row.name as string,
    passwordHash: row.password_hash as string | null,
    oidcSubject: row.oidc_subject as string | null,
    createdAt: Number(row.created_at),
    disabledAt: row.disabled_at === null ? null : Number(row.disabled_at),
  };
}

function toMembership(row: Row): Membership {
  return {
    projectId: row.project_id as string,
    projectName: row.project_name as string,
    reviewerId: row.reviewer_id as string,
    name: row.name as string,
    role: row.role as ReviewerRole,
    groups: parseNames(row.group_names),
  };
}
