/**
 * Rows of the table `secret_key`: one, which ties the database to its key.
 */

import type { Transaction } from "../../store.ts";

export interface StoredSecretKey {
  /** The key that encrypts all secrets, except during a rotation. */
  readonly keyId: string;
  /** Null in a database that schema 1 made, until its first start since. */
  readonly encryptedFingerprintKey: string | null;
  /** Null in a database of before schema 17, until its first start since. */
  readonly encryptedRowKey: string | null;
}

/** @returns undefined when the database is new */
export async function lockSecretKey(tx: Transaction): Promise<StoredSecretKey | undefined> {
  const sql = "select key_id, encrypted_fingerprint_key, encrypted_row_key from secret_key";
  const row = await tx.lock("update", sql);
  if (row === undefined) return undefined;
  return {
    keyId: row.key_id as string,
    encryptedFingerprintKey: row.encrypted_fingerprint_key as string | null,
    encryptedRowKey: row.encrypted_row_key as string | null,
  };
}

export async function insertSecretKey(
  tx: Transaction,
  { keyId, encryptedFingerprintKey, encryptedRowKey }: StoredSecretKey,
): Promise<void> {
  const sql = `insert into secret_key (key_id, encrypted_fingerprint_key, encrypted_row_key)
    values ($1, $2, $3)`;
  await tx.run(sql, [keyId, encryptedFingerprintKey, encryptedRowKey]);
}

export async function storeFingerprintKey(tx: Transaction, encrypted: string): Promise<void> {
  await tx.run("update secret_key set encrypted_fingerprint_key = $1", [encrypted]);
}

export async function storeRowKey(tx: Transaction, encrypted: string): Promise<void> {
  await tx.run("update secret_key set encrypted_row_key = $1", [encrypted]);
}

/** The highest id of any request or audit entry; undefined when there is none. */
export async function readHighestId(tx: Transaction): Promise<string | undefined> {
  const requests = await tx.get("select max(id) as id from request");
  const entries = await tx.get("select max(id) as id from audit_entry");
  const ids = [requests?.id, entries?.id].filter((id) => typeof id === "string");
  return ids.sort().at(-1);
}

export async function hasAuditLog(tx: Transaction): Promise<boolean> {
  return (await tx.get("select project_id from audit_log limit 1")) !== undefined;
}

/** Ends a rotation: from now on the key with this id alone opens the database. */
export async function storeKeyId(tx: Transaction, keyId: string): Promise<void> {
  await tx.run("update secret_key set key_id = $1 where key_id <> $1", [keyId]);
}
