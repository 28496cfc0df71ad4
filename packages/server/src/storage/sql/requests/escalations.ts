/**
 * The column `escalates_at` of the table `request`: when the next step of an escalation is due.
 */

import type { StoredRequest } from "../../../core/request.ts";
import type { Reader, Transaction } from "../../store.ts";
import type { RowKey } from "../keys.ts";
import { macOfRequest } from "./request-rows.ts";

/** Pending requests of all projects with a due step, the longest due first. */
export async function readDueEscalations(
  reader: Reader,
  now: number,
  limit: number,
): Promise<RowKey[]> {
  const rows = await reader.all(
    `select project_id, id from request /* indexed by request_escalates */
     where status = 'pending' and escalates_at <= $1 and deadline_at > $1
     order by escalates_at limit $2`,
    [now, limit],
  );
  return rows.map((row) => ({ projectId: row.project_id as string, id: row.id as string }));
}

/** When the next step is due, of all projects; epoch ms. */
export async function readNextEscalation(reader: Reader, now: number): Promise<number | undefined> {
  const row = await reader.get(
    `select escalates_at from request /* indexed by request_escalates */
     where status = 'pending' and escalates_at is not null and deadline_at > $1
     order by escalates_at limit 1`,
    [now],
  );
  return row === undefined ? undefined : Number(row.escalates_at);
}

export interface EscalationUpdate {
  /** Locked and pending, with the judgement that has the applied steps. */
  readonly request: StoredRequest;
  /** When the next step is due, epoch ms; null: none. */
  readonly escalatesAt: number | null;
}

/** Records the applied steps of a request that the caller has locked and found pending. */
export async function updateEscalation(
  tx: Transaction,
  { request, escalatesAt }: EscalationUpdate,
): Promise<void> {
  const { projectId, id, policy, keyHash } = request;
  if (keyHash === undefined) throw new Error("the escalated request was not read from the store");
  const updated = await tx.run(
    `update request set policy = $3, escalates_at = $4, checksum = 0, mac = $5
     where project_id = $1 and id = $2 and decided_at is null`,
    [projectId, id, policy, escalatesAt, macOfRequest(tx, request, keyHash)],
  );
  if (updated !== 1) throw new Error("a step was recorded on a request that was not pending");
}

/** Changes only when the next attempt is due. */
export async function postponeEscalation(
  tx: Transaction,
  { projectId, id }: RowKey,
  escalatesAt: number | null,
): Promise<void> {
  const sql = "update request set escalates_at = $3 where project_id = $1 and id = $2";
  await tx.run(sql, [projectId, id, escalatesAt]);
}
