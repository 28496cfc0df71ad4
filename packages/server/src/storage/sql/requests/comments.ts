/** Rows of the table `request_comment`: comments of reviewers, purged with their request. */

import type { JsonText } from "../../../core/request.ts";
import type { Reader, Transaction } from "../../store.ts";
import type { RowKey } from "../keys.ts";

export interface StoredComment {
  readonly projectId: string;
  readonly requestId: string;
  /** UUIDv7, in the order of the comments. */
  readonly id: string;
  readonly reviewerId: string;
  readonly body: JsonText;
  /** Epoch ms. */
  readonly writtenAt: number;
}

export async function insertComment(
  tx: Transaction,
  { projectId, requestId, id, reviewerId, body, writtenAt }: StoredComment,
): Promise<void> {
  await tx.run(
    `insert into request_comment (project_id, request_id, id, reviewer_id, body, written_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [projectId, requestId, id, reviewerId, body, writtenAt],
  );
}

/** The comments on a request, the earliest first. */
export async function readComments(
  reader: Reader,
  { projectId, id: requestId }: RowKey,
): Promise<StoredComment[]> {
  const rows = await reader.all(
    `select id, reviewer_id, body, written_at from request_comment
     where project_id = $1 and request_id = $2 order by written_at, id`,
    [projectId, requestId],
  );
  return rows.map((row) => ({
    projectId,
    requestId,
    id: String(row.id),
    reviewerId: String(row.reviewer_id),
    body: String(row.body),
    writtenAt: Number(row.written_at),
  }));
}

/** Numbers of comments by request; a request without comments is missing. */
export async function countComments(
  reader: Reader,
  projectId: string,
  requestIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (requestIds.length === 0) return new Map();
  const params = requestIds.map((_, i) => `$${i + 2}`).join(", ");
  const rows = await reader.getMany(
    `select request_id, count(*) as comments from request_comment
     where project_id = $1 and request_id in (${params}) group by request_id`,
    [projectId, ...requestIds],
  );
  return new Map(rows.map((row) => [String(row.request_id), Number(row.comments)]));
}
