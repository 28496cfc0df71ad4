/**
 * Rows of people who sign in at the identity provider, and of the reviewers that it makes of them.
 * Every change of the reviewers of a user is made while the user's row is locked.
 */

import type { ReviewerRole } from "../../../core/roles.ts";
import type { Reader, Row, Transaction } from "../../store.ts";
import { parseNames, writeNames } from "../names.ts";

/** In the column `managed_by`. */
const OIDC = "oidc";

/** A reviewer that a person is or was in a project. */
export interface PersonsReviewer {
  readonly id: string;
  readonly projectId: string;
  readonly projectName: string;
  readonly role: ReviewerRole;
  readonly groups: readonly string[];
  readonly removedAt: number | null;
  /** Whether the identity provider gives role and groups. */
  readonly isManaged: boolean;
}

/** @returns the id of the person whom the provider knows so */
export async function readPersonIdBySubject(
  reader: Reader,
  subject: string,
): Promise<string | undefined> {
  const row = await reader.get("select id from person where oidc_subject = $1", [subject]);
  return row?.id as string | undefined;
}

/**
 * @returns the id of the person with this id at the provider, also of a user whom the provider
 * deleted
 */
export async function readPersonIdByExternalId(
  reader: Reader,
  externalId: string,
): Promise<string | undefined> {
  const row = await reader.get("select id from person where external_id = $1", [externalId]);
  return row?.id as string | undefined;
}

export async function readExternalId(reader: Reader, personId: string): Promise<string | null> {
  const row = await reader.get("select external_id from person where id = $1", [personId]);
  return (row?.external_id ?? null) as string | null;
}

export async function updateExternalId(
  tx: Transaction,
  personId: string,
  externalId: string | null,
): Promise<void> {
  await tx.run("update person set external_id = $2 where id = $1", [personId, externalId]);
}

/** Whether the provider sends the user over SCIM. */
export async function isProvisioned(reader: Reader, personId: string): Promise<boolean> {
  const sql = "select person_id from scim_user where person_id = $1";
  return (await reader.get(sql, [personId])) !== undefined;
}

/** Whether a provider can send users over SCIM. */
export async function hasScimToken(reader: Reader, now: number): Promise<boolean> {
  const row = await reader.get(
    `select id from scim_token
     where revoked_at is null and (expires_at is null or expires_at > $1) limit 1`,
    [now],
  );
  return row !== undefined;
}

export async function renamePerson(tx: Transaction, id: string, name: string): Promise<void> {
  await tx.run("update person set name = $2 where id = $1", [id, name]);
}

export async function updateSubject(
  tx: Transaction,
  id: string,
  subject: string | null,
): Promise<void> {
  await tx.run("update person set oidc_subject = $2 where id = $1", [id, subject]);
}

export async function listPersonsReviewers(
  reader: Reader,
  personId: string,
): Promise<PersonsReviewer[]> {
  const rows = await reader.all(
    `select reviewer.id as id, reviewer.project_id as project_id, project.name as project_name,
       reviewer.role as role, reviewer.group_names as group_names,
       reviewer.removed_at as removed_at, reviewer.managed_by as managed_by
     from reviewer join project on project.id = reviewer.project_id
     where reviewer.person_id = $1
     order by project.name, reviewer.id`,
    [personId],
  );
  return rows.map(toReviewer);
}

/** @returns whether the name was free in the project; an existing row stays unchanged */
export async function insertManagedReviewer(
  tx: Transaction,
  { id, projectId, role, groups }: Pick<PersonsReviewer, "id" | "projectId" | "role" | "groups">,
  { personId, name, now }: { readonly personId: string; readonly name: string; now: number },
): Promise<boolean> {
  const inserted = await tx.run(
    `insert into reviewer
       (id, project_id, name, role, group_names, created_at, person_id, managed_by)
     values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict (project_id, name) do nothing`,
    [id, projectId, name, role, writeNames(groups), now, personId, OIDC],
  );
  return inserted === 1;
}

/**
 * Gives role and groups to a reviewer, also to one from whom the provider has taken them.
 *
 * @returns false when a person of this server has removed the reviewer meanwhile
 */
export async function updateManaged(
  tx: Transaction,
  { id, projectId, role, groups }: Pick<PersonsReviewer, "id" | "projectId" | "role" | "groups">,
): Promise<boolean> {
  const updated = await tx.run(
    `update reviewer set role = $3, group_names = $4, removed_at = null, managed_by = '${OIDC}'
     where project_id = $1 and id = $2 and (removed_at is null or managed_by = '${OIDC}')`,
    [projectId, id, role, writeNames(groups)],
  );
  return updated === 1;
}

/** @returns false when a person has removed the reviewer meanwhile */
export async function removeManaged(
  tx: Transaction,
  { id, projectId }: Pick<PersonsReviewer, "id" | "projectId">,
  now: number,
): Promise<boolean> {
  const taken = await tx.run(
    `update reviewer set removed_at = $3, managed_by = '${OIDC}'
     where project_id = $1 and id = $2 and removed_at is null`,
    [projectId, id, now],
  );
  return taken === 1;
}

/** Hands the reviewer over from the identity provider to the people of this server. */
export async function endManagement(
  tx: Transaction,
  { id, projectId }: Pick<PersonsReviewer, "id" | "projectId">,
): Promise<void> {
  const sql = "update reviewer set managed_by = null where project_id = $1 and id = $2";
  await tx.run(sql, [projectId, id]);
}

function toReviewer(row: Row): PersonsReviewer {
  return {
    id: row.id as string,
    projectId: row.project_id as string,
    projectName: row.project_name as string,
    role: row.role as ReviewerRole,
    groups: parseNames(row.group_names),
    removedAt: row.removed_at === null ? null : Number(row.removed_at),
    isManaged: row.managed_by === OIDC,
  };
}
