/**
 * Rows of the table `confirmation_miss`: how often a reviewer typed something else than a request
 * asks for. They are erased with their request; whoever counts one has locked it.
 */

import type { Reader, Transaction } from "../../store.ts";

export interface Misses {
  readonly projectId: string;
  readonly requestId: string;
  readonly reviewerId: string;
  readonly misses: number;
  /** The last one, epoch ms. */
  readonly missedAt: number;
}

export async function writeMisses(tx: Transaction, missed: Misses): Promise<void> {
  await tx.run(
    `insert into confirmation_miss (project_id, request_id, reviewer_id, misses, missed_at)
     values ($1, $2, $3, $4, $5)
     on conflict (project_id, request_id, reviewer_id)
       do update set misses = excluded.misses, missed_at = excluded.missed_at`,
    [missed.projectId, missed.requestId, missed.reviewerId, missed.misses, missed.missedAt],
  );
}

/** @returns by request; without those on which there was no miss */
export async function readMisses(
  reader: Reader,
  projectId: string,
  requestIds: readonly string[],
): Promise<Pick<Misses, "requestId" | "reviewerId" | "misses">[]> {
  if (requestIds.length === 0) return [];
  const places = requestIds.map((_, i) => `$${i + 2}`).join(", ");
  const rows = await reader.all(
    `select request_id, reviewer_id, misses from confirmation_miss
     where project_id = $1 and request_id in (${places})`,
    [projectId, ...requestIds],
  );
  return rows.map((row) => ({
    requestId: row.request_id as string,
    reviewerId: row.reviewer_id as string,
    misses: Number(row.misses),
  }));
}
