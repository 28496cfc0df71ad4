/**
 * Rows of the table `vote`: approvals that are not enough by themselves. They are erased with
 * their request.
 */

import type { JsonText } from "../../core/request.ts";
import type { Reader, Row, Transaction } from "../store.ts";

export interface StoredVote {
  readonly projectId: string;
  readonly requestId: string;
  readonly reviewerId: string;
  readonly note: JsonText | null;
  /** How long the voter would let the approval be used; null: as long as is usual. */
  readonly validityMs: number | null;
  /** Epoch ms. */
  readonly votedAt: number;
  /** The signature of a passkey over the vote, as the audit log has it; null without one. */
  readonly proof: JsonText | null;
}

/** Records a vote, in place of an earlier one of the same reviewer. */
export async function writeVote(tx: Transaction, vote: StoredVote): Promise<void> {
  await tx.run(
    `insert into vote (project_id, request_id, reviewer_id, note, validity_ms, voted_at, proof)
     values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (project_id, request_id, reviewer_id)
       do update set note = excluded.note, validity_ms = excluded.validity_ms,
         voted_at = excluded.voted_at, proof = excluded.proof`,
    [
      vote.projectId,
      vote.requestId,
      vote.reviewerId,
      vote.note,
      vote.validityMs,
      vote.votedAt,
      vote.proof,
    ],
  );
}

/** @returns the votes on these requests of the project, in the order in which they were cast */
export async function readVotes(
  reader: Reader,
  projectId: string,
  requestIds: readonly string[],
): Promise<StoredVote[]> {
  if (requestIds.length === 0) return [];
  const places = requestIds.map((_, i) => `$${i + 2}`).join(", ");
  const rows = await reader.all(
    `select project_id, request_id, reviewer_id, note, validity_ms, voted_at, proof
     from vote
     where project_id = $1 and request_id in (${places}) order by voted_at, reviewer_id`,
    [projectId, ...requestIds],
  );
  return rows.map(fromRow);
}

function fromRow(row: Row): StoredVote {
  return {
    projectId: row.project_id as string,
    requestId: row.request_id as string,
    reviewerId: row.reviewer_id as string,
    note: row.note as string | null,
    validityMs: row.validity_ms === null ? null : Number(row.validity_ms),
    votedAt: Number(row.voted_at),
    proof: row.proof as string | null,
  };
}
