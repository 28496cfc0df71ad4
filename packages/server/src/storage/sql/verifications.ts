/**
 * Rows of the table `verification`: provisionings and updates whose receiver is being verified.
 */

import type { ProblemCode } from "@countersign/protocol";
import type { Reader, Row, Transaction } from "../store.ts";

/** The problem with which an attempt failed. */
export interface VerificationFailure {
  readonly code: ProblemCode;
  readonly retryAfterS: number | null;
}

export interface StoredVerification {
  readonly scope: string;
  readonly keyHash: string;
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
  const { scope, keyHash, fingerprint, instanceId, fence, leaseUntil } = verification;
  const inserted = await tx.run(
    `insert into verification
       (scope, key_hash, fingerprint, instance_id, fence, lease_until, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (scope, key_hash) do nothing`,
    [scope, keyHash, fingerprint, instanceId, fence, leaseUntil, now],
  );
  return inserted === 1;
}

const SELECT = `
  select scope, key_hash, fingerprint, instance_id, fence, lease_until, failure, retry_after_s
  from verification where scope = $1 and key_hash = $2`;

export async function lockVerification(
  tx: Transaction,
  scope: string,
  keyHash: string,
): Promise<StoredVerification | undefined> {
  return toVerification(await tx.lock("update", SELECT, [scope, keyHash]));
}

/** For those who only look how it goes: it keeps nobody from committing. */
export async function readVerification(
  reader: Reader,
  scope: string,
  keyHash: string,
): Promise<StoredVerification | undefined> {
  return toVerification(await reader.get(SELECT, [scope, keyHash]));
}

/** Takes over from an attempt that failed or whose holder is gone, under the next fence. */
export async function takeOverVerification(
  tx: Transaction,
  verification: StoredVerification,
  now: number,
): Promise<void> {
  await tx.run(
    `update verification set fingerprint = $3, instance_id = $4, fence = $5, lease_until = $6,
       failure = null, retry_after_s = null, updated_at = $7
     where scope = $1 and key_hash = $2`,
    [
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

/** Lets everything that is under way be taken over, for when every holder of a lease is dead. */
export async function releaseVerifications(tx: Transaction, now: number): Promise<void> {
  await tx.run(
    "update verification set lease_until = $1 where lease_until > $1 and failure is null",
    [now],
  );
}

/**
 * Frees the key, and tells those who wait for this attempt how it ended.
 *
 * @returns false when it was taken over or has ended otherwise; then nothing is changed
 */
export async function failVerification(
  tx: Transaction,
  { scope, keyHash, fence }: StoredVerification,
  { code, retryAfterS }: VerificationFailure,
  now: number,
): Promise<boolean> {
  const failed = await tx.run(
    `update verification set lease_until = 0, failure = $4, retry_after_s = $5, updated_at = $6
     where scope = $1 and key_hash = $2 and fence = $3`,
    [scope, keyHash, fence, code, retryAfterS, now],
  );
  return failed === 1;
}

export async function deleteVerification(
  tx: Transaction,
  { scope, keyHash }: Pick<StoredVerification, "scope" | "keyHash">,
): Promise<void> {
  await tx.run("delete from verification where scope = $1 and key_hash = $2", [scope, keyHash]);
}

/** Erases what failed attempts and those of dead holders left behind. */
export async function deleteVerificationsBefore(
  tx: Transaction,
  updatedBefore: number,
  limit: number,
): Promise<number> {
  return tx.run(
    `delete from verification where (scope, key_hash) in
       (select scope, key_hash from verification where updated_at <= $1
        order by updated_at limit $2)`,
    [updatedBefore, limit],
  );
}

function toVerification(row: Row | undefined): StoredVerification | undefined {
  if (row === undefined) return undefined;
  return {
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
