/**
 * Rows of the table `secret_key`: one, which ties the database to its key.
 */

import type { Transaction } from "../store.ts";

export interface StoredSecretKey {
  /** Of the key that everything is sealed with, a rotation under way aside. */
  readonly keyId: string;
  /** Null in a database that schema 1 made, until its first start since. */
  readonly sealedFingerprintKey: string | null;
}

/** @returns undefined when the database is new */
export async function lockSecretKey(tx: Transaction): Promise<StoredSecretKey | undefined> {
  const row = await tx.lock("update", "select key_id, sealed_fingerprint_key from secret_key");
  if (row === undefined) return undefined;
  return {
    keyId: row.key_id as string,
    sealedFingerprintKey: row.sealed_fingerprint_key as string | null,
  };
}

export async function insertSecretKey(
  tx: Transaction,
  { keyId, sealedFingerprintKey }: StoredSecretKey,
): Promise<void> {
  await tx.run("insert into secret_key (key_id, sealed_fingerprint_key) values ($1, $2)", [
    keyId,
    sealedFingerprintKey,
  ]);
}

export async function storeFingerprintKey(tx: Transaction, sealed: string): Promise<void> {
  await tx.run("update secret_key set sealed_fingerprint_key = $1", [sealed]);
}

/** Ends a rotation: from now on the key with this id alone opens the database. */
export async function storeKeyId(tx: Transaction, keyId: string): Promise<void> {
  await tx.run("update secret_key set key_id = $1 where key_id <> $1", [keyId]);
}
