/** Rows of the table `scim_token`: tokens of identity providers, for the whole server. */

import type { LockMode, Reader, Row, Transaction } from "../../store.ts";

export interface StoredScimToken {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}

const COLUMNS = "id, name, created_at, expires_at, revoked_at";

export async function insertScimToken(
  tx: Transaction,
  { id, name, createdAt, expiresAt }: StoredScimToken,
  tokenHash: string,
): Promise<void> {
  await tx.insert(
    `insert into scim_token (token_hash, id, name, created_at, expires_at)
     values ($1, $2, $3, $4, $5)`,
    [tokenHash, id, name, createdAt, expiresAt],
  );
}

export async function readScimToken(
  reader: Reader,
  tokenHash: string,
): Promise<StoredScimToken | undefined> {
  const sql = `select ${COLUMNS} from scim_token where token_hash = $1`;
  return toToken(await reader.get(sql, [tokenHash]));
}

/** @param mode `share` to rely on it: its revocation waits for the transaction */
export async function lockScimToken(
  tx: Transaction,
  mode: LockMode,
  id: string,
): Promise<StoredScimToken | undefined> {
  return toToken(await tx.lock(mode, `select ${COLUMNS} from scim_token where id = $1`, [id]));
}

export async function revokeScimTokenRow(
  tx: Transaction,
  id: string,
  revokedAt: number,
): Promise<void> {
  await tx.run("update scim_token set revoked_at = $2 where id = $1", [id, revokedAt]);
}

/** All of them, the oldest first. */
export async function listScimTokens(reader: Reader): Promise<StoredScimToken[]> {
  const rows = await reader.all(`select ${COLUMNS} from scim_token order by created_at, id`);
  return rows.flatMap((row) => toToken(row) ?? []);
}

function toToken(row: Row | undefined): StoredScimToken | undefined {
  if (row === undefined) return undefined;
  return {
    id: row.id as string,
    name: row.name as string,
    createdAt: Number(row.created_at),
    expiresAt: row.expires_at === null ? null : Number(row.expires_at),
    revokedAt: row.revoked_at === null ? null : Number(row.revoked_at),
  };
}
