/**
 * Rows of the table `call_freeze`: calls are denied until a reviewer lifts it. Few rows, of which
 * every create asks, so that a distributed database keeps a copy of them on every node: what
 * covers a project is its own rows and those of the project `SERVER`.
 */

import type { Actor } from "../../../core/actor.ts";
import type { FreezeRef, StoredFreeze } from "../../../core/freeze.ts";
import type { Reader, Row, Transaction } from "../../store.ts";
import { touchActiveState } from "../active-state-stamp.ts";
import type { InstanceKey, RowKey } from "../keys.ts";
import { SERVER } from "../keys.ts";

const COLUMNS = `id, project_id, instance_id, note, frozen_at, frozen_by, lifted_at, lifted_by`;

/** In place of an instance: all of them. */
export const EVERY_INSTANCE = "";

/** @returns false when one is active on the same scope already */
export async function insertFreeze(tx: Transaction, freeze: StoredFreeze): Promise<boolean> {
  const inserted = await tx.run(
    `insert into call_freeze (id, project_id, instance_id, note, frozen_at, frozen_by)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (project_id, instance_id) where lifted_at is null do nothing`,
    [freeze.id, freeze.projectId, freeze.instanceId, freeze.note, freeze.frozenAt, freeze.frozenBy],
  );
  if (inserted === 1) await touchActiveState(tx, freeze.projectId);
  return inserted === 1;
}

/**
 * The freeze that covers an instance: of the server before that of the project, and of the project
 * before that of the instance itself. A transaction that locked the instance before
 * (`lockInstance`) can rely on the answer until it commits: see freezeCalls.
 */
export async function findFreeze(
  reader: Reader,
  { projectId, instanceId }: InstanceKey,
): Promise<FreezeRef | undefined> {
  const row = await reader.get(
    `select id, note from call_freeze
     where lifted_at is null and project_id in ('', $1) and instance_id in ('', $2)
     order by project_id, instance_id limit 1`,
    [projectId, instanceId],
  );
  return toFreezeRef(row);
}

/** The same for the instance of a request: it can be sent together with the lock of that. */
export async function findFreezeOfRequest(
  reader: Reader,
  { projectId, id }: RowKey,
): Promise<FreezeRef | undefined> {
  const row = await reader.get(
    `select call_freeze.id, call_freeze.note
     from request join call_freeze on call_freeze.project_id in ('', request.project_id)
       and call_freeze.instance_id in ('', request.instance_id)
       and call_freeze.lifted_at is null
     where request.project_id = $1 and request.id = $2
     order by call_freeze.project_id, call_freeze.instance_id limit 1`,
    [projectId, id],
  );
  return toFreezeRef(row);
}

/** The active one on exactly this scope. */
export async function readFreezeOf(
  reader: Reader,
  { projectId, instanceId }: InstanceKey,
): Promise<StoredFreeze | undefined> {
  const sql = `select ${COLUMNS} from call_freeze
    where project_id = $1 and instance_id = $2 and lifted_at is null`;
  return toFreeze(await reader.get(sql, [projectId, instanceId]));
}

/** A freeze of this project or of the server, locked. */
export async function lockFreeze(
  tx: Transaction,
  projectId: string,
  id: string,
): Promise<StoredFreeze | undefined> {
  const sql = `select ${COLUMNS} from call_freeze where project_id = $1 and id = $2`;
  const own = toFreeze(await tx.lock("update", sql, [projectId, id]));
  return own ?? toFreeze(await tx.lock("update", sql, [SERVER, id]));
}

/** Those with these ids that concern a project, active or lifted. */
export async function readFreezes(
  reader: Reader,
  projectId: string,
  ids: readonly string[],
): Promise<StoredFreeze[]> {
  if (ids.length === 0) return [];
  const params = ids.map((_, i) => `$${i + 2}`).join(", ");
  const sql = `select ${COLUMNS} from call_freeze
    where project_id in ('', $1) and id in (${params})`;
  return (await reader.getMany(sql, [projectId, ...ids])).map(fromRow);
}

/** Whether it is not lifted. */
export async function isFreezeActive(
  reader: Reader,
  { projectId, id }: Pick<StoredFreeze, "projectId" | "id">,
): Promise<boolean> {
  const sql = "select lifted_at from call_freeze where project_id = $1 and id = $2";
  const row = await reader.get(sql, [projectId, id]);
  return row !== undefined && row.lifted_at === null;
}

/** @param freeze one that the caller has locked and found active */
export async function markLifted(
  tx: Transaction,
  { projectId, id }: Pick<StoredFreeze, "projectId" | "id">,
  liftedAt: number,
  liftedBy: Actor,
): Promise<void> {
  const sql = `update call_freeze set lifted_at = $3, lifted_by = $4
    where project_id = $1 and id = $2`;
  await tx.run(sql, [projectId, id, liftedAt, liftedBy]);
  await touchActiveState(tx, projectId);
}

/** All active freezes, of all projects and the server. */
export async function listActiveFreezes(reader: Reader): Promise<StoredFreeze[]> {
  const sql = `select ${COLUMNS} from call_freeze where lifted_at is null
    order by project_id, instance_id`;
  return (await reader.all(sql)).map(fromRow);
}

/** Those that concern a project, before an id: the newest first. */
export async function listActiveFreezesOf(
  reader: Reader,
  projectId: string,
  before: string,
  limit: number,
): Promise<StoredFreeze[]> {
  const sql = `select ${COLUMNS} from call_freeze
    where project_id in ('', $1) and id < $2 and lifted_at is null order by id desc limit $3`;
  return (await reader.all(sql, [projectId, before, limit])).map(fromRow);
}

/** As {@link listActiveFreezesOf}, those that were lifted. */
export async function listLiftedFreezes(
  reader: Reader,
  projectId: string,
  before: string,
  limit: number,
): Promise<StoredFreeze[]> {
  const sql = `select ${COLUMNS} from call_freeze
    where project_id in ('', $1) and id < $2 and lifted_at is not null order by id desc limit $3`;
  return (await reader.all(sql, [projectId, before, limit])).map(fromRow);
}

/**
 * Purges freezes that were lifted long ago.
 *
 * @param before an id of that time: a freeze is lifted later than it is made
 * @returns how many of this project, or of the server, were purged, at most `limit`
 */
export async function deleteFreezesLiftedBefore(
  tx: Transaction,
  projectId: string,
  liftedBefore: number,
  before: string,
  limit: number,
): Promise<number> {
  const rows = await tx.all(
    `select id from call_freeze where project_id = $1 and id < $2 and lifted_at <= $3
     order by id limit $4`,
    [projectId, before, liftedBefore, limit],
  );
  for (const { id = null } of rows) {
    await tx.run("delete from call_freeze where project_id = $1 and id = $2", [projectId, id]);
  }
  return rows.length;
}

function toFreezeRef(row: Row | undefined): FreezeRef | undefined {
  return row === undefined ? undefined : { id: row.id as string, note: row.note as string | null };
}

function toFreeze(row: Row | undefined): StoredFreeze | undefined {
  return row === undefined ? undefined : fromRow(row);
}

function fromRow(row: Row): StoredFreeze {
  return {
    id: row.id as string,
    projectId: row.project_id as string,
    instanceId: row.instance_id as string,
    note: row.note as string | null,
    frozenAt: Number(row.frozen_at),
    frozenBy: row.frozen_by as Actor,
    liftedAt: row.lifted_at === null ? null : Number(row.lifted_at),
    liftedBy: row.lifted_by as Actor | null,
  };
}
