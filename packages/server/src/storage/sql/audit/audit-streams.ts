/** Rows of the table `audit_stream`: how far each log was sent to each sink. */

import type { SinkKind } from "../../../core/audit-stream.ts";
import type { Reader, Transaction } from "../../store.ts";

export interface StreamKey {
  readonly projectId: string;
  readonly sink: SinkKind;
}

/** Fields that an attempt changes. */
export interface StreamProgress {
  /** Of the first entry that is not sent. */
  readonly position: number;
  /** Failed attempts since the last success. */
  readonly failures: number;
  /** Epoch ms. */
  readonly retryAt: number | null;
}

export interface StoredStream extends StreamProgress {
  readonly fence: number;
  /** Epoch ms. */
  readonly claimedUntil: number | null;
}

export interface DueStreamPage {
  /** The first project. */
  readonly from: string;
  readonly limit: number;
}

/** Projects, and `SERVER`, with sealed entries that may be sent now, in order. */
export async function readDueStreams(
  reader: Reader,
  sink: SinkKind,
  now: number,
  { from, limit }: DueStreamPage,
): Promise<string[]> {
  const rows = await reader.all(
    `select audit_log.project_id from audit_log
       left join audit_stream on audit_stream.project_id = audit_log.project_id
         and audit_stream.sink = $1
     where audit_log.project_id >= $3
       and audit_log.size > coalesce(audit_stream.position, 0)
       and coalesce(audit_stream.claimed_until, 0) <= $2
       and coalesce(audit_stream.retry_at, 0) <= $2
     order by audit_log.project_id limit $4`,
    [sink, now, from, limit],
  );
  return rows.map(({ project_id }) => String(project_id));
}

/** How far a log was sent to each sink that was ever used. */
export async function readStreamPositions(
  reader: Reader,
  projectId: string,
): Promise<ReadonlyMap<SinkKind, number>> {
  const sql = "select sink, position from audit_stream where project_id = $1";
  const rows = await reader.all(sql, [projectId]);
  return new Map(rows.map(({ sink, position }) => [sink as SinkKind, Number(position)]));
}

/** @returns epoch ms at which the oldest entry was sealed that is not sent; undefined: all are */
export async function readStreamLag(reader: Reader, sink: SinkKind): Promise<number | undefined> {
  const row = await reader.get(
    `select min((select sealed_at from audit_seal
         where audit_seal.project_id = audit_log.project_id
           and audit_seal.position <= case
             when coalesce(audit_stream.position, 0) < audit_log.pruned then audit_log.pruned
             else coalesce(audit_stream.position, 0) end
         order by audit_seal.position desc limit 1)) as lag_since
     from audit_log
       left join audit_stream on audit_stream.project_id = audit_log.project_id
         and audit_stream.sink = $1
     where audit_log.size > coalesce(audit_stream.position, 0)`,
    [sink],
  );
  return row === undefined || row.lag_since === null ? undefined : Number(row.lag_since);
}

/** Creates the row of a new stream, which starts with the first entry. */
export async function lockStream(
  tx: Transaction,
  { projectId, sink }: StreamKey,
): Promise<StoredStream> {
  await tx.run(
    `insert into audit_stream (project_id, sink, position, fence, failures)
     values ($1, $2, 0, 0, 0) on conflict (project_id, sink) do nothing`,
    [projectId, sink],
  );
  const row = await tx.lock(
    "update",
    `select position, fence, claimed_until, failures, retry_at from audit_stream
     where project_id = $1 and sink = $2`,
    [projectId, sink],
  );
  if (row === undefined) throw new Error("a stream was neither found nor created");
  return {
    position: Number(row.position),
    fence: Number(row.fence),
    failures: Number(row.failures),
    claimedUntil: row.claimed_until === null ? null : Number(row.claimed_until),
    retryAt: row.retry_at === null ? null : Number(row.retry_at),
  };
}

export async function claimStreamRow(
  tx: Transaction,
  { projectId, sink }: StreamKey,
  claimedUntil: number,
): Promise<void> {
  await tx.run(
    `update audit_stream set claimed_until = $3, fence = fence + 1
     where project_id = $1 and sink = $2`,
    [projectId, sink, claimedUntil],
  );
}

/** Whether this claim is the last one and lasts until then. */
export async function isStreamClaimed(
  reader: Reader,
  { projectId, sink }: StreamKey,
  fence: number,
  until: number,
): Promise<boolean> {
  const row = await reader.get(
    `select fence from audit_stream where project_id = $1 and sink = $2 and fence = $3
       and claimed_until >= $4`,
    [projectId, sink, fence, until],
  );
  return row !== undefined;
}

/**
 * Ends a claim.
 *
 * @returns false when another replica has claimed it: nothing is written
 */
export async function updateStream(
  tx: Transaction,
  { projectId, sink }: StreamKey,
  fence: number,
  { position, failures, retryAt }: StreamProgress,
): Promise<boolean> {
  const updated = await tx.run(
    `update audit_stream set claimed_until = null, position = $4, failures = $5, retry_at = $6
     where project_id = $1 and sink = $2 and fence = $3 and claimed_until is not null`,
    [projectId, sink, fence, position, failures, retryAt],
  );
  return updated === 1;
}

/** Ends the claims of a crashed process. */
export async function releaseStreams(
  tx: Transaction,
  projectId: string,
  now: number,
): Promise<void> {
  await tx.run(
    "update audit_stream set claimed_until = null where project_id = $1 and claimed_until > $2",
    [projectId, now],
  );
}
