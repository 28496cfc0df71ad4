/** Rows of the table `scim_user`: the users that an identity provider sent. */

import type { Reader, Row, Transaction } from "../../store.ts";

/** A user with its account. */
export interface StoredScimUser {
  /** Id of the account. */
  readonly personId: string;
  /** Display name of the account. */
  readonly name: string;
  readonly userName: string;
  readonly externalId: string | null;
  /** JSON text. */
  readonly attributes: string;
  readonly disabledAt: number | null;
  readonly createdAt: number;
  readonly changedAt: number;
}

const SELECT = `select scim_user.person_id as person_id, scim_user.user_name as user_name,
    scim_user.attributes as attributes, scim_user.created_at as created_at,
    scim_user.changed_at as changed_at, person.name as name,
    person.disabled_at as disabled_at, person.external_id as external_id
  from scim_user join person on person.id = scim_user.person_id`;

const ORDER = "order by scim_user.created_at, scim_user.person_id";

/** @returns whether the user name was free, and the account not provisioned */
export async function insertScimUser(
  tx: Transaction,
  {
    personId,
    userName,
    userNameKey,
    attributes,
    at,
  }: {
    readonly personId: string;
    readonly userName: string;
    readonly userNameKey: string;
    readonly attributes: string;
    readonly at: number;
  },
): Promise<boolean> {
  const inserted = await tx.run(
    `insert into scim_user
       (person_id, user_name, user_name_key, attributes, created_at, changed_at)
     values ($1, $2, $3, $4, $5, $5)
     on conflict do nothing`,
    [personId, userName, userNameKey, attributes, at],
  );
  return inserted === 1;
}

export async function updateScimUser(
  tx: Transaction,
  personId: string,
  {
    userName,
    userNameKey,
    attributes,
    at,
  }: {
    readonly userName: string;
    readonly userNameKey: string;
    readonly attributes: string;
    readonly at: number;
  },
): Promise<void> {
  await tx.run(
    `update scim_user set user_name = $2, user_name_key = $3, attributes = $4, changed_at = $5
     where person_id = $1`,
    [personId, userName, userNameKey, attributes, at],
  );
}

/** Also removes the user from all groups. */
export async function deleteScimUserRow(tx: Transaction, personId: string): Promise<void> {
  await tx.run("delete from scim_member where person_id = $1", [personId]);
  await tx.run("delete from scim_user where person_id = $1", [personId]);
}

export async function readScimUser(
  reader: Reader,
  personId: string,
): Promise<StoredScimUser | undefined> {
  const row = await reader.get(`${SELECT} where scim_user.person_id = $1`, [personId]);
  return row === undefined ? undefined : toUser(row);
}

export async function readScimUserByName(
  reader: Reader,
  userNameKey: string,
): Promise<StoredScimUser | undefined> {
  const row = await reader.get(`${SELECT} where scim_user.user_name_key = $1`, [userNameKey]);
  return row === undefined ? undefined : toUser(row);
}

export async function readScimUserByExternalId(
  reader: Reader,
  externalId: string,
): Promise<StoredScimUser | undefined> {
  const row = await reader.get(`${SELECT} where person.external_id = $1`, [externalId]);
  return row === undefined ? undefined : toUser(row);
}

/** A page of all users, the oldest first. */
export async function listScimUserPage(
  reader: Reader,
  offset: number,
  limit: number,
): Promise<StoredScimUser[]> {
  const rows = await reader.all(`${SELECT} ${ORDER} limit $1 offset $2`, [limit, offset]);
  return rows.map(toUser);
}

export async function countScimUsers(reader: Reader): Promise<number> {
  const row = await reader.get("select count(*) as users from scim_user");
  return Number(row?.users);
}

function toUser(row: Row): StoredScimUser {
  return {
    personId: row.person_id as string,
    name: row.name as string,
    userName: row.user_name as string,
    externalId: row.external_id as string | null,
    attributes: row.attributes as string,
    disabledAt: row.disabled_at === null ? null : Number(row.disabled_at),
    createdAt: Number(row.created_at),
    changedAt: Number(row.changed_at),
  };
}
