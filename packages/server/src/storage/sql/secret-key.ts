/**
 * Rows of the table `secret_key`.
 */

import type { Transaction } from "../store.ts";

/** @returns the id of the key that this database is sealed with; `keyId` if it is new */
export async function ensureKeyId(tx: Transaction, keyId: string): Promise<string> {
  const row = await tx.get("select key_id from secret_key");
  if (row !== undefined) return String(row.key_id);
  await tx.run("insert into secret_key (key_id) values ($1)", [keyId]);
  return keyId;
}
