/** Rows of the table `request_claim`: the reviewers who review pending requests. */

import type { Reader, Transaction } from "../../store.ts";
import type { RowKey } from "../keys.ts";

export interface RequestClaim {
  readonly requestId: string;
  readonly reviewerId: string;
  /** Epoch ms. */
  readonly at: number;
  readonly until: number;
}

/** Replaces the claim of the request. The caller has locked the request. */
export async function writeClaim(
  tx: Transaction,
  projectId: string,
  { requestId, reviewerId, at, until }: RequestClaim,
): Promise<void> {
  await tx.run(
    `insert into request_claim (project_id, request_id, reviewer_id, claimed_at, claimed_until)
     values ($1, $2, $3, $4, $5)
     on conflict (project_id, request_id) do update set reviewer_id = excluded.reviewer_id,
       claimed_at = excluded.claimed_at, claimed_until = excluded.claimed_until`,
    [projectId, requestId, reviewerId, at, until],
  );
}

export async function deleteClaim(
  tx: Transaction,
  { projectId, id: requestId }: RowKey,
): Promise<void> {
  const sql = "delete from request_claim where project_id = $1 and request_id = $2";
  await tx.run(sql, [projectId, requestId]);
}

/** Claims of these requests that have not ended. */
export async function readRequestClaims(
  reader: Reader,
  projectId: string,
  requestIds: readonly string[],
  now: number,
): Promise<RequestClaim[]> {
  if (requestIds.length === 0) return [];
  const params = requestIds.map((_, i) => `$${i + 3}`).join(", ");
  const rows = await reader.getMany(
    `select request_id, reviewer_id, claimed_at, claimed_until from request_claim
     where project_id = $1 and claimed_until > $2 and request_id in (${params})`,
    [projectId, now, ...requestIds],
  );
  return rows.map((row) => ({
    requestId: String(row.request_id),
    reviewerId: String(row.reviewer_id),
    at: Number(row.claimed_at),
    until: Number(row.claimed_until),
  }));
}
