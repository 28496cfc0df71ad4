/**
 * Rows of the table `delayed_verdict`: verdicts that the server applies at `commits_at` unless the
 * reviewer takes them back. At most one for each request and reviewer; a transaction that changes
 * one has locked the request.
 */

import type { JsonText } from "../../../core/request.ts";
import type { Reader, Row, Transaction } from "../../store.ts";

export interface DelayedVerdictKey {
  readonly projectId: string;
  readonly requestId: string;
  readonly reviewerId: string;
}

export interface DelayedVerdict extends DelayedVerdictKey {
  readonly verdict: "approve" | "deny";
  readonly argumentsSha256: string;
  readonly note: JsonText | null;
  readonly validityMs: number | null;
  /** The text that the reviewer typed. */
  readonly confirmation: JsonText | null;
  /** Of the token or session that it came with. */
  readonly credentialId: string;
  readonly isSession: boolean;
  /** Epoch ms. */
  readonly receivedAt: number;
  /** When it is given, epoch ms. */
  readonly commitsAt: number;
}

const COLUMNS = `project_id, request_id, reviewer_id, verdict, arguments_sha256, note, validity_ms,
  confirmation, credential_id, is_session, received_at, commits_at`;

/** Replaces an earlier one of the same reviewer. */
export async function writeDelayedVerdict(tx: Transaction, delayed: DelayedVerdict): Promise<void> {
  await tx.run(
    `insert into delayed_verdict (project_id, request_id, reviewer_id, verdict, arguments_sha256,
       note, validity_ms, confirmation, credential_id, is_session, received_at, commits_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
     on conflict (project_id, request_id, reviewer_id)
       do update set verdict = excluded.verdict, arguments_sha256 = excluded.arguments_sha256,
         note = excluded.note, validity_ms = excluded.validity_ms,
         confirmation = excluded.confirmation, credential_id = excluded.credential_id,
         is_session = excluded.is_session, received_at = excluded.received_at,
         commits_at = excluded.commits_at`,
    [
      delayed.projectId,
      delayed.requestId,
      delayed.reviewerId,
      delayed.verdict,
      delayed.argumentsSha256,
      delayed.note,
      delayed.validityMs,
      delayed.confirmation,
      delayed.credentialId,
      delayed.isSession ? 1 : 0,
      delayed.receivedAt,
      delayed.commitsAt,
    ],
  );
}

/** @returns whether there was one */
export async function deleteDelayedVerdict(
  tx: Transaction,
  { projectId, requestId, reviewerId }: DelayedVerdictKey,
): Promise<boolean> {
  const sql = `delete from delayed_verdict
    where project_id = $1 and request_id = $2 and reviewer_id = $3`;
  return (await tx.run(sql, [projectId, requestId, reviewerId])) === 1;
}

export async function findDelayedVerdict(
  reader: Reader,
  { projectId, requestId, reviewerId }: DelayedVerdictKey,
): Promise<DelayedVerdict | undefined> {
  const sql = `select ${COLUMNS} from delayed_verdict
    where project_id = $1 and request_id = $2 and reviewer_id = $3`;
  const row = await reader.get(sql, [projectId, requestId, reviewerId]);
  return row === undefined ? undefined : fromRow(row);
}

export async function readDelayedVerdicts(
  reader: Reader,
  projectId: string,
  requestIds: readonly string[],
): Promise<DelayedVerdict[]> {
  if (requestIds.length === 0) return [];
  const params = requestIds.map((_, i) => `$${i + 2}`).join(", ");
  const rows = await reader.getMany(
    `select ${COLUMNS} from delayed_verdict where project_id = $1 and request_id in (${params})`,
    [projectId, ...requestIds],
  );
  return rows.map(fromRow);
}

/** Due verdicts of all projects, the earliest first. */
export async function readDueDelayedVerdicts(
  reader: Reader,
  now: number,
  limit: number,
): Promise<DelayedVerdictKey[]> {
  const rows = await reader.all(
    `select project_id, request_id, reviewer_id from delayed_verdict where commits_at <= $1
     order by commits_at limit $2`,
    [now, limit],
  );
  return rows.map((row) => ({
    projectId: row.project_id as string,
    requestId: row.request_id as string,
    reviewerId: row.reviewer_id as string,
  }));
}

/** When the next one is to be given, of all projects; epoch ms. */
export async function readNextDelayedVerdict(reader: Reader): Promise<number | undefined> {
  const row = await reader.get(
    "select commits_at from delayed_verdict order by commits_at limit 1",
  );
  return row === undefined ? undefined : Number(row.commits_at);
}

function fromRow(row: Row): DelayedVerdict {
  return {
    projectId: row.project_id as string,
    requestId: row.request_id as string,
    reviewerId: row.reviewer_id as string,
    verdict: row.verdict as DelayedVerdict["verdict"],
    argumentsSha256: row.arguments_sha256 as string,
    note: row.note as string | null,
    validityMs: row.validity_ms === null ? null : Number(row.validity_ms),
    confirmation: row.confirmation as string | null,
    credentialId: row.credential_id as string,
    isSession: Number(row.is_session) === 1,
    receivedAt: Number(row.received_at),
    commitsAt: Number(row.commits_at),
  };
}
