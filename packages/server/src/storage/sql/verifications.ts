/**
 * Rows of the table `verification`: provisionings and updates whose receiver is being verified.
 */

import type { ProblemCode } from "@countersign/protocol";
import type { Reader, Row, Transaction } from "../store.ts";
import type { ScopedKey } from "./keys.ts";

/** The problem with which an attempt failed. */
export interface VerificationFailure {
  readonly code: ProblemCode;
  readonly retryAfterS: number | null;
}

export interface StoredVerification extends ScopedKey {
  readonly fingerprint: string;
  readonly instanceId: string;
  /** Grows with every attempt under this key. */
  readonly fence: number;
  /** Until then the holder of the fence may commit; 0 once it has failed. */
  readonly leaseUntil: number;
  readonly failure: VerificationFailure | null;
}

/** @returns whether the key was free; a used one is left as it is */
export async function insertVerification(
  tx: Transaction,
  verification: StoredVerification,
  now: number,
): Promise<boolean> {
  const { projectId, scope, keyHash, fingerprint, instanceId, fence, leaseUntil } = verification;
  const inserted = await tx.run(
    `insert into verification
       (project_id, scope, key_hash, fingerprint, instance_id, fence, lease_until, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict (project_id, scope, key_hash) do nothing`,
    [projectId, scope, keyHash, fingerprint, instanceId, fence, leaseUntil, now],
  );
  return inserted === 1;
}

const SELECT = `
  select project_id, scope, key_hash, fingerprint, instance_id, fence, lease_until, failure,
    retry_after_s
  from verification where project_id = $1 and scope = $2 and key_hash = $3`;

export async function lockVerification(
  tx: Transaction,
  { projectId, scope, keyHash }: ScopedKey,
): Promise<StoredVerification | undefined> {
  return toVerification(await tx.lock("update", SELECT, [projectId, scope, keyHash]));
}

/** For those who only look how it goes: it keeps nobody from committing. */
export async function readVerification(
  reader: Reader,
  { projectId, scope, keyHash }: ScopedKey,
): Promise<StoredVerification | undefined> {
  return toVerification(await reader.get(SELECT, [projectId, scope, keyHash]));
}

/** Takes over from an attempt that failed or whose holder is gone, under the next fence. */
export async function takeOverVerification(
  tx: Transaction,
  verification: StoredVerification,
  now: number,
): Promise<void> {
  await tx.run(
    `update verification set fingerprint = $4, instance_id = $5, fence = $6, lease_until = $7,
       failure = null, retry_after_s = null, updated_at = $8
     where project_id = $1 and scope = $2 and key_hash = $3`,
    [
      verification.projectId,
      verification.scope,
      verification.keyHash,
      verification.fingerprint,
      verification.instanceId,
      verification.fence,
      verification.leaseUntil,
      now,
    ],
  );
}

/** Lets what is under way be taken over, for when every holder of a lease is dead. */
export async function releaseVerifications(
  tx: Transaction,
  projectId: string,
  now: number,
): Promise<void> {
  await tx.run(
    `update verification set lease_until = $2
     where project_id = $1 and lease_until > $2 and failure is null`,
    [projectId, now],
  );
}

/**
 * Frees the key, and tells those who wait for this attempt how it ended.
 *
 * @returns false when it was taken over or has ended otherwise; then nothing is changed
 */
export async function failVerification(
  tx: Transaction,
  { projectId, scope, keyHash, fence }: StoredVerification,
  { code, retryAfterS }: VerificationFailure,
  now: number,
): Promise<boolean> {
  const failed = await tx.run(
    `update verification set lease_until = 0, failure = $5, retry_after_s = $6, updated_at = $7
     where project_id = $1 and scope = $2 and key_hash = $3 and fence = $4`,
    [projectId, scope, keyHash, fence, code, retryAfterS, now],
  );
  return failed === 1;
}

export async function deleteVerification(
  tx: Transaction,
  { projectId, scope, keyHash }: ScopedKey,
): Promise<void> {
  const sql = "delete from verification where project_id = $1 and scope = $2 and key_hash = $3";
  await tx.run(sql, [projectId, scope, keyHash]);
}

/**
 * Erases what failed attempts and those of dead holders left behind, of all projects.
 *
 * @returns how many there were to erase, at most `limit`
 */
export async function deleteVerificationsBefore(
  tx: Transaction,
  updatedBefore: number,
  limit: number,
): Promise<number> {
  const rows = await tx.all(
    `select project_id, scope, key_hash from verification where updated_at <= $1
     order by updated_at limit $2`,
    [updatedBefore, limit],
  );
  for (const { project_id: projectId = null, scope = null, key_hash: keyHash = null } of rows) {
    await tx.run(
      `delete from verification
       where project_id = $1 and scope = $2 and key_hash = $3 and updated_at <= $4`,
      [projectId, scope, keyHash, updatedBefore],
    );
  }
  return rows.length;
}

function toVerification(row: Row | undefined): StoredVerification | undefined {
  if (row === undefined) return undefined;
  return {
    projectId: row.project_id as string,
    scope: row.scope as string,
    keyHash: row.key_hash as string,
    fingerprint: row.fingerprint as string,
    instanceId: row.instance_id as string,
    fence: Number(row.fence),
    leaseUntil: Number(row.lease_until),
    failure: toFailure(row),
  };
}

function toFailure(row: Row): VerificationFailure | null {
  if (row.failure === null) return null;
  const retryAfterS = row.retry_after_s === null ? null : Number(row.retry_after_s);
  return { code: row.failure as ProblemCode, retryAfterS };
}
