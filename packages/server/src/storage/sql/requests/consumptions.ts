/**
 * Rows of the table `consumption`: approvals that were used. A transaction that changes one has
 * locked the request, with which it is purged.
 */

import type { OutcomeStatus } from "@countersign/protocol";
import type { StoredConsumption, StoredOutcome } from "../../../core/consumption.ts";
import type { Reader, Row, Transaction } from "../../store.ts";
import type { RowKey } from "../keys.ts";

const COLUMNS = "request_id, key_hash, consumed_at, outcome, outcome_note, reported_at";

export async function insertConsumption(
  tx: Transaction,
  { projectId, id }: RowKey,
  { keyHash, consumedAt }: StoredConsumption,
): Promise<void> {
  await tx.insert(
    `insert into consumption (project_id, request_id, key_hash, consumed_at)
     values ($1, $2, $3, $4)`,
    [projectId, id, keyHash, consumedAt],
  );
}

/** Records an outcome where there is none. */
export async function updateOutcome(
  tx: Transaction,
  { projectId, id }: RowKey,
  { status, note, reportedAt }: StoredOutcome,
): Promise<void> {
  const updated = await tx.run(
    `update consumption set outcome = $3, outcome_note = $4, reported_at = $5
     where project_id = $1 and request_id = $2 and outcome is null`,
    [projectId, id, status, note, reportedAt],
  );
  if (updated !== 1) throw new Error("an outcome was recorded where there could be none");
}

export async function readConsumption(
  reader: Reader,
  { projectId, id }: RowKey,
): Promise<StoredConsumption | undefined> {
  const sql = `select ${COLUMNS} from consumption where project_id = $1 and request_id = $2`;
  const row = await reader.get(sql, [projectId, id]);
  return row === undefined ? undefined : fromRow(row);
}

/** @returns by the ids of these requests of the project; without those that were not used */
export async function readConsumptions(
  reader: Reader,
  projectId: string,
  requestIds: readonly string[],
): Promise<ReadonlyMap<string, StoredConsumption>> {
  if (requestIds.length === 0) return new Map();
  const params = requestIds.map((_, i) => `$${i + 2}`).join(", ");
  const rows = await reader.getMany(
    `select ${COLUMNS} from consumption where project_id = $1 and request_id in (${params})`,
    [projectId, ...requestIds],
  );
  return new Map(rows.map((row) => [row.request_id as string, fromRow(row)]));
}

function fromRow(row: Row): StoredConsumption {
  return {
    keyHash: row.key_hash as string,
    consumedAt: Number(row.consumed_at),
    outcome:
      row.outcome === null
        ? null
        : {
            status: row.outcome as OutcomeStatus,
            note: row.outcome_note as string | null,
            reportedAt: Number(row.reported_at),
          },
  };
}
