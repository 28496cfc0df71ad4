/**
 * Rows of the table `failed_confirmation`: how often a reviewer typed another confirmation than
 * the request demands. Deleted with the request; a transaction that counts one has locked it.
 */

import type { Reader, Transaction } from "../../store.ts";

export interface FailedConfirmations {
  readonly projectId: string;
  readonly requestId: string;
  readonly reviewerId: string;
  readonly attempts: number;
  /** The last one, epoch ms. */
  readonly failedAt: number;
}

export async function writeFailedConfirmations(
  tx: Transaction,
  failed: FailedConfirmations,
): Promise<void> {
  await tx.run(
    `insert into failed_confirmation (project_id, request_id, reviewer_id, attempts, failed_at)
     values ($1, $2, $3, $4, $5)
     on conflict (project_id, request_id, reviewer_id)
       do update set attempts = excluded.attempts, failed_at = excluded.failed_at`,
    [failed.projectId, failed.requestId, failed.reviewerId, failed.attempts, failed.failedAt],
  );
}

/** @returns by request; without requests that have no failed attempt */
export async function readFailedConfirmations(
  reader: Reader,
  projectId: string,
  requestIds: readonly string[],
): Promise<Pick<FailedConfirmations, "requestId" | "reviewerId" | "attempts">[]> {
  if (requestIds.length === 0) return [];
  const params = requestIds.map((_, i) => `$${i + 2}`).join(", ");
  const rows = await reader.getMany(
    `select request_id, reviewer_id, attempts from failed_confirmation
     where project_id = $1 and request_id in (${params})`,
    [projectId, ...requestIds],
  );
  return rows.map((row) => ({
    requestId: row.request_id as string,
    reviewerId: row.reviewer_id as string,
    attempts: Number(row.attempts),
  }));
}
