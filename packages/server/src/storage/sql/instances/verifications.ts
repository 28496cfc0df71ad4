/**
 * Rows of the table `verification`: provisionings and updates whose receiver is being verified.
 */

import type { ProblemCode } from "@countersign/protocol";
import type { Reader, Row, Transaction } from "../../store.ts";
import type { ScopedKey } from "../keys.ts";

/** The problem with which an attempt failed. */
export interface VerificationFailure {
  readonly code: ProblemCode;
  readonly retryAfterS: number | null;
}

export interface StoredVerification extends ScopedKey {
  readonly fingerprint: string;
  readonly instanceId: string;
  /** Orders concurrent updates of one instance; epoch ms. */
  readonly acceptedAt: number;
  /** Whether the update sets the name too. */
  readonly renames: boolean;
  /** Grows with every attempt under this key. */
  readonly fence: number;
  /** Until then the holder of the fence may commit; 0 once it has failed. */
  readonly leaseUntil: number;
  readonly failure: VerificationFailure | null;
}

/** @returns whether the key was free; an existing row stays unchanged */
export async function insertVerification(
  tx: Transaction,
  verification: StoredVerification,
  now: number,
): Promise<boolean> {
  const inserted = await tx.run(
    `insert into verification
       (project_id, scope, key_hash, fingerprint, instance_id, fence, lease_until, accepted_at,
        renames, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     on conflict (project_id, scope, key_hash) do nothing`,
    [
      verification.projectId,
      verification.scope,
      verification.keyHash,
      verification.fingerprint,
      verification.instanceId,
      verification.fence,
      verification.leaseUntil,
      verification.acceptedAt,
      verification.renames ? 1 : 0,
      now,
    ],
  );
  return inserted === 1;
}

const SELECT = `
  select project_id, scope, key_hash, fingerprint, instance_id, fence, lease_until, accepted_at,
    renames, superseded_at, failure, retry_after_s
  from verification where project_id = $1 and scope = $2 and key_hash = $3`;

export async function lockVerification(
  tx: Transaction,
  { projectId, scope, keyHash }: ScopedKey,
): Promise<StoredVerification | undefined> {
  return toVerification(await tx.lock("update", SELECT, [projectId, scope, keyHash]));
}

/** Without a lock: for exchanges that only poll its state. */
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
    `update verification set instance_id = $4, fence = $5, lease_until = $6, accepted_at = $7,
       failure = null, retry_after_s = null, updated_at = $8
     where project_id = $1 and scope = $2 and key_hash = $3`,
    [
      verification.projectId,
      verification.scope,
      verification.keyHash,
      verification.instanceId,
      verification.fence,
      verification.leaseUntil,
      verification.acceptedAt,
      now,
    ],
  );
}

/** An update as it commits. */
export interface AcceptedUpdate extends ScopedKey {
  readonly instanceId: string;
  readonly acceptedAt: number;
  readonly renames: boolean;
  /** Whether it replaces or removes the receiver. */
  readonly redirects: boolean;
}

/**
 * Fails the unfinished updates of the instance that were accepted no later and would overwrite a
 * field that this update sets. The caller has locked the instance.
 */
export async function supersedeVerifications(
  tx: Transaction,
  { projectId, scope, keyHash, instanceId, acceptedAt, renames, redirects }: AcceptedUpdate,
  now: number,
): Promise<void> {
  // Every one of them replaces the receiver; some set the name as well.
  const renamesMin = redirects ? 0 : 1;
  if (!redirects && !renames) return;
  await tx.run(
    `update verification set superseded_at = $6, updated_at = $6
     where project_id = $1 and instance_id = $2 and accepted_at <= $3 and renames >= $4
       and not (scope = $5 and key_hash = $7) and failure is null and superseded_at is null`,
    [projectId, instanceId, acceptedAt, renamesMin, scope, now, keyHash],
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
 * Records how the attempt failed, for the calls that wait for it. The key stays bound to its input.
 *
 * @returns false when it was taken over, superseded or has ended otherwise; nothing is changed then
 */
export async function failVerification(
  tx: Transaction,
  { projectId, scope, keyHash, fence }: StoredVerification,
  { code, retryAfterS }: VerificationFailure,
  now: number,
): Promise<boolean> {
  const failed = await tx.run(
    `update verification set lease_until = 0, failure = $5, retry_after_s = $6, updated_at = $7
     where project_id = $1 and scope = $2 and key_hash = $3 and fence = $4
       and superseded_at is null`,
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
 * Deletes what failed attempts and attempts of crashed holders left behind, of all projects. With
 * the row, the key is free for other input.
 *
 * @returns how many were purged, at most `limit`
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
    acceptedAt: Number(row.accepted_at),
    renames: Number(row.renames) === 1,
    fence: Number(row.fence),
    leaseUntil: Number(row.lease_until),
    failure: toFailure(row),
  };
}

function toFailure(row: Row): VerificationFailure | null {
  if (row.superseded_at !== null) return { code: "update_superseded", retryAfterS: null };
  if (row.failure === null) return null;
  const retryAfterS = row.retry_after_s === null ? null : Number(row.retry_after_s);
  return { code: row.failure as ProblemCode, retryAfterS };
}
