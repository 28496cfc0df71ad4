/**
 * Projects, and those in them who hold operator-made tokens: provisioners and reviewers.
 */

import type { ReviewerRole } from "../../../core/roles.ts";
import type { LockMode, Reader, Row, Transaction } from "../../store.ts";
import { touchActiveState } from "../active-state-stamp.ts";
import type { RowKey } from "../keys.ts";
import { parseNames, writeNames } from "../names.ts";

export interface StoredReviewer {
  readonly id: string;
  readonly name: string;
  readonly role: ReviewerRole;
  /** Rules of policy name them. */
  readonly groups: readonly string[];
  readonly isBot: boolean;
  /** The user who signs in as this reviewer; null for a reviewer that only has tokens. */
  readonly personId: string | null;
  /** Epoch ms; who was removed may do nothing any more, and keeps the name. */
  readonly removedAt: number | null;
}

/** @returns the id of the project of that name, made if there was none */
export async function ensureProject(
  tx: Transaction,
  name: string,
  newId: string,
  now: number,
): Promise<string> {
  await tx.run(
    `insert into project (id, name, created_at) values ($1, $2, $3)
     on conflict (name) do nothing`,
    [newId, name, now],
  );
  return onlyId(await tx.get("select id from project where name = $1", [name]));
}

export interface StoredProject {
  readonly id: string;
  readonly name: string;
}

/** All projects by their names, or the one of a name. */
export async function readProjects(
  reader: Reader,
  name?: string | undefined,
): Promise<StoredProject[]> {
  const rows =
    name === undefined
      ? await reader.all("select id, name from project order by name")
      : await reader.all("select id, name from project where name = $1", [name]);
  return rows.map((row) => ({ id: row.id as string, name: row.name as string }));
}

export async function readProjectName(reader: Reader, id: string): Promise<string | undefined> {
  return (await reader.get("select name from project where id = $1", [id]))?.name as
    | string
    | undefined;
}

export async function readProjectIds(reader: Reader): Promise<string[]> {
  return (await reader.all("select id from project order by id")).map((row) => String(row.id));
}

/**
 * Holds a project, so that who says who may do what in it does so alone: two who remove each other
 * at one moment are one after the other.
 */
export async function lockProject(tx: Transaction, projectId: string): Promise<void> {
  await tx.lock("update", "select id from project where id = $1", [projectId]);
}

/** All provisioners of a project, by their names. */
export async function listProvisionersOf(
  reader: Reader,
  projectId: string,
): Promise<{ readonly id: string; readonly name: string }[]> {
  const sql = "select id, name from provisioner where project_id = $1 order by name";
  const rows = await reader.all(sql, [projectId]);
  return rows.map((row) => ({ id: row.id as string, name: row.name as string }));
}

/** @returns the id of the provisioner of that name in the project, made if there was none */
export async function ensureProvisioner(
  tx: Transaction,
  projectId: string,
  name: string,
  newId: string,
  now: number,
): Promise<string> {
  await tx.run(
    `insert into provisioner (id, project_id, name, created_at) values ($1, $2, $3, $4)
     on conflict (project_id, name) do nothing`,
    [newId, projectId, name, now],
  );
  const sql = "select id from provisioner where project_id = $1 and name = $2";
  return onlyId(await tx.get(sql, [projectId, name]));
}

const PERSON = "person";

const REVIEWER = "id, name, role, group_names, kind, person_id, removed_at";

const BY_NAME = `select ${REVIEWER} from reviewer where project_id = $1 and name = $2`;

/** @returns the reviewer of that name, who may be removed; made as given if there was none */
export async function ensureReviewer(
  tx: Transaction,
  projectId: string,
  { id, name, role, groups, isBot, personId }: Omit<StoredReviewer, "removedAt">,
  now: number,
): Promise<StoredReviewer> {
  const kind = isBot ? "bot" : PERSON;
  await tx.run(
    `insert into reviewer (id, project_id, name, role, group_names, kind, person_id, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict (project_id, name) do nothing`,
    [id, projectId, name, role, writeNames(groups), kind, personId, now],
  );
  // They may have browsers with push subscriptions.
  if (personId !== null) await touchActiveState(tx, projectId);
  const stored = toReviewer(await tx.get(BY_NAME, [projectId, name]));
  if (stored === undefined) throw new Error("a reviewer was neither found nor made");
  return stored;
}

export async function readReviewer(
  reader: Reader,
  { projectId, id }: RowKey,
): Promise<StoredReviewer | undefined> {
  const sql = `select ${REVIEWER} from reviewer where project_id = $1 and id = $2`;
  return toReviewer(await reader.get(sql, [projectId, id]));
}

export async function readReviewerByName(
  reader: Reader,
  projectId: string,
  name: string,
): Promise<StoredReviewer | undefined> {
  return toReviewer(await reader.get(BY_NAME, [projectId, name]));
}

/** As {@link readReviewerByName}, and holds the row. */
export async function lockReviewerByName(
  tx: Transaction,
  projectId: string,
  name: string,
): Promise<StoredReviewer | undefined> {
  return toReviewer(await tx.lock("update", BY_NAME, [projectId, name]));
}

/** As {@link readReviewer}, and locks the row: `share` to rely on its permissions. */
export async function lockReviewer(
  tx: Transaction,
  mode: LockMode,
  { projectId, id }: RowKey,
): Promise<StoredReviewer | undefined> {
  const sql = `select ${REVIEWER} from reviewer where project_id = $1 and id = $2`;
  return toReviewer(await tx.lock(mode, sql, [projectId, id]));
}

export async function markReviewerRemoved(
  tx: Transaction,
  { projectId, id }: RowKey,
  removedAt: number,
): Promise<void> {
  const sql = `update reviewer set removed_at = $3, managed_by = null
     where project_id = $1 and id = $2`;
  await tx.run(sql, [projectId, id, removedAt]);
}

export async function updateReviewer(
  tx: Transaction,
  projectId: string,
  { id, role, groups }: Pick<StoredReviewer, "id" | "role" | "groups">,
): Promise<void> {
  const sql = "update reviewer set role = $3, group_names = $4 where project_id = $1 and id = $2";
  await tx.run(sql, [projectId, id, role, writeNames(groups)]);
}

/** All reviewers of a project, by their names. */
export async function listReviewersOf(
  reader: Reader,
  projectId: string,
): Promise<StoredReviewer[]> {
  const sql = `select ${REVIEWER} from reviewer where project_id = $1 order by name`;
  return (await reader.all(sql, [projectId])).flatMap((row) => toReviewer(row) ?? []);
}

/** Reviewers of these ids, in any order. */
export async function readReviewers(
  reader: Reader,
  projectId: string,
  ids: readonly string[],
): Promise<StoredReviewer[]> {
  if (ids.length === 0) return [];
  const params = ids.map((_, i) => `$${i + 2}`).join(", ");
  const sql = `select ${REVIEWER} from reviewer where project_id = $1 and id in (${params})`;
  const rows = await reader.getMany(sql, [projectId, ...ids]);
  return rows.flatMap((row) => toReviewer(row) ?? []);
}

/** @returns the ids of the given users that are not disabled */
export async function readEnabledPersons(
  reader: Reader,
  personIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (personIds.length === 0) return new Set();
  const params = personIds.map((_, i) => `$${i + 1}`).join(", ");
  const sql = `select id from person where disabled_at is null and id in (${params})`;
  return new Set((await reader.getMany(sql, personIds)).map((row) => String(row.id)));
}

function toReviewer(row: Row | undefined): StoredReviewer | undefined {
  if (row === undefined) return undefined;
  return {
    id: row.id as string,
    name: row.name as string,
    role: row.role as ReviewerRole,
    groups: parseNames(row.group_names),
    // Of a kind that is not known here, it is not taken for a person.
    isBot: row.kind !== PERSON,
    personId: row.person_id as string | null,
    removedAt: row.removed_at === null ? null : Number(row.removed_at),
  };
}

function onlyId(row: Row | undefined): string {
  if (row === undefined) throw new Error("a row was neither found nor made");
  return row.id as string;
}
