/**
 * Every column that stores encrypted secrets: a rotation of the secret key reencrypts them all. A
 * new column is one row.
 */

import type { Row, Transaction } from "../../store.ts";

export interface EncryptedColumn {
  readonly table: string;
  readonly column: string;
  /** Columns of the primary key. */
  readonly key: readonly string[];
  /** With the owner, the encryption context of its values. Never changes. */
  readonly context: string;
  /** The column that names the owner; undefined when the database has one value. */
  readonly owner?: string;
}

/** Reencrypted first: from then on, a server that has only an old key does not start. */
export const FINGERPRINT_KEY: EncryptedColumn = {
  table: "secret_key",
  column: "encrypted_fingerprint_key",
  key: ["key_id"],
  context: "fingerprint key",
};

/** Key for the MACs of rows. */
export const ROW_KEY: EncryptedColumn = {
  table: "secret_key",
  column: "encrypted_row_key",
  key: ["key_id"],
  context: "row key",
};

/** Key that signs the checkpoints of an audit log. */
export const AUDIT_KEY: EncryptedColumn = {
  table: "audit_log",
  column: "encrypted_private_key",
  key: ["project_id"],
  context: "audit key",
  owner: "project_id",
};

/** VAPID key that identifies the server to push services. */
export const PUSH_KEY: EncryptedColumn = {
  table: "push_key",
  column: "encrypted_private_key",
  key: ["id"],
  context: "push key",
};

/** In the order in which a rotation comes to them. */
export const ENCRYPTED_COLUMNS: readonly EncryptedColumn[] = [
  FINGERPRINT_KEY,
  ROW_KEY,
  {
    table: "idempotency",
    column: "encrypted_credential",
    key: ["project_id", "scope", "key_hash"],
    context: "instance credential",
    owner: "instance_id",
  },
  {
    table: "receiver",
    column: "encrypted_secret",
    key: ["project_id", "instance_id"],
    context: "signing secret",
    owner: "instance_id",
  },
  {
    table: "channel",
    column: "encrypted_target",
    key: ["project_id", "id"],
    context: "channel target",
    owner: "id",
  },
  {
    table: "oncall_schedule",
    column: "encrypted_source",
    key: ["project_id", "id"],
    context: "oncall source",
    owner: "id",
  },
  {
    table: "push_subscription",
    column: "encrypted_target",
    key: ["id"],
    context: "push target",
    owner: "id",
  },
  PUSH_KEY,
  AUDIT_KEY,
];

export interface EncryptedRow {
  /** Values of the primary key, in the order of its columns. */
  readonly key: readonly string[];
  /** The encryption context of the value. */
  readonly context: string;
  readonly encrypted: string;
}

/** @param after the primary key to go on behind, of the row that came last */
export async function readEncryptedWithOtherKeys(
  tx: Transaction,
  { table, column, key, context, owner }: EncryptedColumn,
  keyId: string,
  after: readonly string[] | undefined,
  limit: number,
): Promise<EncryptedRow[]> {
  const columns = key.join(", ");
  const behind = after === undefined ? "" : `and (${columns}) > (${numbered(key, 2)})`;
  const rows = await tx.all(
    `select ${columns}, ${column} as encrypted, ${owner ?? "null"} as owner_id from ${table}
     where ${column} not like $1 ${behind} order by ${columns} limit ${limit}`,
    [`${keyId}.%`, ...(after ?? [])],
  );
  return rows.map((row: Row) => ({
    key: key.map((name) => row[name] as string),
    context: owner === undefined ? context : `${context} ${row.owner_id}`,
    encrypted: row.encrypted as string,
  }));
}

/** Leaves a row that was changed or deleted since it was read. */
export async function replaceEncrypted(
  tx: Transaction,
  { table, column, key }: EncryptedColumn,
  row: EncryptedRow,
  encrypted: string,
): Promise<number> {
  const isRow = key.map((name, index) => `${name} = $${index + 3}`).join(" and ");
  return tx.run(`update ${table} set ${column} = $1 where ${column} = $2 and ${isRow}`, [
    encrypted,
    row.encrypted,
    ...row.key,
  ]);
}

function numbered(names: readonly string[], first: number): string {
  return names.map((_, index) => `$${first + index}`).join(", ");
}
