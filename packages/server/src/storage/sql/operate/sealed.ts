/**
 * Every column that holds sealed secrets, in one table: a rotation of the secret key goes
 * through it. A new column is one row.
 */

import type { Row, Transaction } from "../../store.ts";

export interface SealedColumn {
  readonly table: string;
  readonly column: string;
  /** Columns of the primary key. */
  readonly key: readonly string[];
  /** What is sealed there; with the owner, the place that its texts are bound to. */
  readonly what: string;
  /** The column that says whose it is; undefined when there is one for the whole database. */
  readonly owner?: string;
}

/** Who holds an old key alone is refused as soon as this one is sealed with the new. */
export const FINGERPRINT_KEY: SealedColumn = {
  table: "secret_key",
  column: "sealed_fingerprint_key",
  key: ["key_id"],
  what: "fingerprint key",
};

/** What the MACs of rows are made with. */
export const ROW_KEY: SealedColumn = {
  table: "secret_key",
  column: "sealed_row_key",
  key: ["key_id"],
  what: "row key",
};

/** What signs the checkpoints of an audit log. */
export const AUDIT_KEY: SealedColumn = {
  table: "audit_log",
  column: "sealed_private_key",
  key: ["project_id"],
  what: "audit key",
  owner: "project_id",
};

/** What proves to push services that it is us. */
export const PUSH_KEY: SealedColumn = {
  table: "push_key",
  column: "sealed_private_key",
  key: ["id"],
  what: "push key",
};

/** In the order in which a rotation comes to them. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  FINGERPRINT_KEY,
  ROW_KEY,
  {
    table: "idempotency",
    column: "sealed_credential",
    key: ["project_id", "scope", "key_hash"],
    what: "instance credential",
    owner: "instance_id",
  },
  {
    table: "receiver",
    column: "sealed_secret",
    key: ["project_id", "instance_id"],
    what: "signing secret",
    owner: "instance_id",
  },
  {
    table: "channel",
    column: "sealed_target",
    key: ["project_id", "id"],
    what: "channel target",
    owner: "id",
  },
  {
    table: "push_subscription",
    column: "sealed_target",
    key: ["id"],
    what: "push target",
    owner: "id",
  },
  PUSH_KEY,
  AUDIT_KEY,
];

export interface SealedRow {
  /** Values of the primary key, in the order of its columns. */
  readonly key: readonly string[];
  /** What the sealed text is bound to. */
  readonly place: string;
  readonly sealed: string;
}

/** @param after the primary key to go on behind, of the row that came last */
export async function readSealedWithOthers(
  tx: Transaction,
  { table, column, key, what, owner }: SealedColumn,
  keyId: string,
  after: readonly string[] | undefined,
  limit: number,
): Promise<SealedRow[]> {
  const columns = key.join(", ");
  const behind = after === undefined ? "" : `and (${columns}) > (${numbered(key, 2)})`;
  const rows = await tx.all(
    `select ${columns}, ${column} as sealed, ${owner ?? "null"} as sealed_owner from ${table}
     where ${column} not like $1 ${behind} order by ${columns} limit ${limit}`,
    [`${keyId}.%`, ...(after ?? [])],
  );
  return rows.map((row: Row) => ({
    key: key.map((name) => row[name] as string),
    place: owner === undefined ? what : `${what} ${row.sealed_owner}`,
    sealed: row.sealed as string,
  }));
}

/** Puts `sealed` in place of what was read; a row that was changed or erased since is left. */
export async function replaceSealed(
  tx: Transaction,
  { table, column, key }: SealedColumn,
  row: SealedRow,
  sealed: string,
): Promise<number> {
  const isRow = key.map((name, index) => `${name} = $${index + 3}`).join(" and ");
  return tx.run(`update ${table} set ${column} = $1 where ${column} = $2 and ${isRow}`, [
    sealed,
    row.sealed,
    ...row.key,
  ]);
}

function numbered(names: readonly string[], first: number): string {
  return names.map((_, index) => `$${first + index}`).join(", ");
}
