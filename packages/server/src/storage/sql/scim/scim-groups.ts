/** Rows of the tables `scim_group` and `scim_member`: groups that an identity provider sent. */

import type { Reader, Row, Transaction } from "../../store.ts";

export interface StoredScimGroup {
  readonly id: string;
  readonly displayName: string;
  readonly externalId: string | null;
  readonly createdAt: number;
  readonly changedAt: number;
}

const COLUMNS = "id, display_name, external_id, created_at, changed_at";

export async function insertScimGroup(
  tx: Transaction,
  { id, displayName, externalId, createdAt, changedAt }: StoredScimGroup,
): Promise<void> {
  await tx.insert(
    `insert into scim_group (id, display_name, external_id, created_at, changed_at)
     values ($1, $2, $3, $4, $5)`,
    [id, displayName, externalId, createdAt, changedAt],
  );
}

export async function updateScimGroup(
  tx: Transaction,
  { id, displayName, externalId, changedAt }: StoredScimGroup,
): Promise<void> {
  await tx.run(
    `update scim_group set display_name = $2, external_id = $3, changed_at = $4 where id = $1`,
    [id, displayName, externalId, changedAt],
  );
}

/** Also removes its members. */
export async function deleteScimGroupRow(tx: Transaction, id: string): Promise<void> {
  await tx.run("delete from scim_member where group_id = $1", [id]);
  await tx.run("delete from scim_group where id = $1", [id]);
}

export async function readScimGroup(
  reader: Reader,
  id: string,
): Promise<StoredScimGroup | undefined> {
  const row = await reader.get(`select ${COLUMNS} from scim_group where id = $1`, [id]);
  return row === undefined ? undefined : toGroup(row);
}

export async function lockScimGroup(
  tx: Transaction,
  id: string,
): Promise<StoredScimGroup | undefined> {
  const row = await tx.lock("update", `select ${COLUMNS} from scim_group where id = $1`, [id]);
  return row === undefined ? undefined : toGroup(row);
}

/** All groups, the oldest first. */
export async function listScimGroupRows(reader: Reader): Promise<StoredScimGroup[]> {
  const rows = await reader.all(`select ${COLUMNS} from scim_group order by created_at, id`);
  return rows.map(toGroup);
}

export async function insertScimMember(
  tx: Transaction,
  groupId: string,
  personId: string,
): Promise<void> {
  await tx.run(
    `insert into scim_member (group_id, person_id) values ($1, $2)
     on conflict (group_id, person_id) do nothing`,
    [groupId, personId],
  );
}

export async function deleteScimMember(
  tx: Transaction,
  groupId: string,
  personId: string,
): Promise<void> {
  const sql = "delete from scim_member where group_id = $1 and person_id = $2";
  await tx.run(sql, [groupId, personId]);
}

/** The ids of the users in a group, in order. */
export async function listMembersOf(reader: Reader, groupId: string): Promise<string[]> {
  const sql = "select person_id from scim_member where group_id = $1 order by person_id";
  return (await reader.all(sql, [groupId])).map((row) => row.person_id as string);
}

/** The groups that contain a user. */
export async function listScimGroupsOf(
  reader: Reader,
  personId: string,
): Promise<StoredScimGroup[]> {
  const rows = await reader.all(
    `select scim_group.id as id, scim_group.display_name as display_name,
       scim_group.external_id as external_id, scim_group.created_at as created_at,
       scim_group.changed_at as changed_at
     from scim_member join scim_group on scim_group.id = scim_member.group_id
     where scim_member.person_id = $1 order by scim_group.id`,
    [personId],
  );
  return rows.map(toGroup);
}

function toGroup(row: Row): StoredScimGroup {
  return {
    id: row.id as string,
    displayName: row.display_name as string,
    externalId: row.external_id as string | null,
    createdAt: Number(row.created_at),
    changedAt: Number(row.changed_at),
  };
}
