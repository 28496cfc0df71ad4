/**
 * Rows of the table `vote`: approvals that are not enough by themselves. They are purged with
 * their request.
 */

import type { JsonText } from "../../../core/request.ts";
import type { Reader, Row, Transaction } from "../../store.ts";
import { parseNames, writeNames } from "../names.ts";

export interface StoredVote {
  readonly projectId: string;
  readonly requestId: string;
  readonly reviewerId: string;
  readonly note: JsonText | null;
  /** How long the voter would let the approval be used; null: as long as is usual. */
  readonly validityMs: number | null;
  /** The only groups that it counts for, by the scopes of the token; null: for any reason. */
  readonly forGroups: readonly string[] | null;
  /** Epoch ms. */
  readonly votedAt: number;
  /** The signature of a passkey over the vote, as the audit log has it; null without one. */
  readonly proof: JsonText | null;
}

/** Records a vote, in place of an earlier one of the same reviewer. */
export async function writeVote(tx: Transaction, vote: StoredVote): Promise<void> {
  await tx.run(
    `insert into vote
       (project_id, request_id, reviewer_id, note, validity_ms, voted_at, for_groups, proof)
     values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict (project_id, request_id, reviewer_id)
       do update set note = excluded.note, validity_ms = excluded.validity_ms,
         voted_at = excluded.voted_at, for_groups = excluded.for_groups,
         proof = excluded.proof`,
    [
      vote.projectId,
      vote.requestId,
      vote.reviewerId,
      vote.note,
      vote.validityMs,
      vote.votedAt,
      vote.forGroups === null ? null : writeNames(vote.forGroups),
      vote.proof,
    ],
  );
}

export async function deleteVote(
  tx: Transaction,
  { projectId, requestId, reviewerId }: Pick<StoredVote, "projectId" | "requestId" | "reviewerId">,
): Promise<void> {
  await tx.run("delete from vote where project_id = $1 and request_id = $2 and reviewer_id = $3", [
    projectId,
    requestId,
    reviewerId,
  ]);
}

/** @returns the votes on these requests of the project, in the order in which they were cast */
export async function readVotes(
  reader: Reader,
  projectId: string,
  requestIds: readonly string[],
): Promise<StoredVote[]> {
  if (requestIds.length === 0) return [];
  const params = requestIds.map((_, i) => `$${i + 2}`).join(", ");
  const rows = await reader.getMany(
    `select project_id, request_id, reviewer_id, note, validity_ms, voted_at, for_groups, proof
     from vote
     where project_id = $1 and request_id in (${params}) order by voted_at, reviewer_id`,
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
    forGroups: row.for_groups === null ? null : parseNames(row.for_groups),
    votedAt: Number(row.voted_at),
    proof: row.proof as string | null,
  };
}
