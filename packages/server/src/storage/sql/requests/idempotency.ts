/**
 * Rows of the table `idempotency`: keys of provisioning, updates, grants and comments
 * with what was answered.
 */

import type { Row, Transaction } from "../../store.ts";
import type { ScopedKey } from "../keys.ts";

export interface StoredResult extends ScopedKey {
  readonly fingerprint: string;
  readonly instanceId: string;
  /** JSON text of the instance as it was answered; of a grant or comment its id. */
  readonly result: string;
  readonly encryptedCredential: string | null;
  readonly createdAt: number;
}

/** @returns whether the key was free; an existing row stays unchanged */
export async function insertResult(tx: Transaction, stored: StoredResult): Promise<boolean> {
  const inserted = await tx.run(
    `insert into idempotency
       (project_id, scope, key_hash, fingerprint, instance_id, result, encrypted_credential,
        created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict (project_id, scope, key_hash) do nothing`,
    [
      stored.projectId,
      stored.scope,
      stored.keyHash,
      stored.fingerprint,
      stored.instanceId,
      stored.result,
      stored.encryptedCredential,
      stored.createdAt,
    ],
  );
  return inserted === 1;
}

export async function readResult(
  tx: Transaction,
  { projectId, scope, keyHash }: ScopedKey,
): Promise<StoredResult | undefined> {
  const row = await tx.get(
    `select project_id, scope, key_hash, fingerprint, instance_id, result, encrypted_credential,
       created_at
     from idempotency where project_id = $1 and scope = $2 and key_hash = $3`,
    [projectId, scope, keyHash],
  );
  return row === undefined ? undefined : fromRow(row);
}

/**
 * Purges keys, results and encrypted credentials together, of all projects.
 *
 * @returns how many were purged, at most `limit`
 */
export async function deleteResultsBefore(
  tx: Transaction,
  createdBefore: number,
  limit: number,
): Promise<number> {
  const rows = await tx.all(
    `select project_id, scope, key_hash from idempotency where created_at <= $1
     order by created_at limit $2`,
    [createdBefore, limit],
  );
  for (const { project_id: projectId = null, scope = null, key_hash: keyHash = null } of rows) {
    await tx.run("delete from idempotency where project_id = $1 and scope = $2 and key_hash = $3", [
      projectId,
      scope,
      keyHash,
    ]);
  }
  return rows.length;
}

function fromRow(row: Row): StoredResult {
  return {
    projectId: row.project_id as string,
    scope: row.scope as string,
    keyHash: row.key_hash as string,
    fingerprint: row.fingerprint as string,
    instanceId: row.instance_id as string,
    result: row.result as string,
    encryptedCredential: row.encrypted_credential as string | null,
    createdAt: Number(row.created_at),
  };
}
