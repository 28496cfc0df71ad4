/**
 * Rows of the table `instance`.
 */

import type { AnsweredInstance, StoredInstance } from "../../core/instance.ts";
import type { LockMode, Reader, Row, Transaction } from "../store.ts";
import { toReceiver } from "./receivers.ts";

const COLUMNS = "id, project_id, provisioner_id, name, created_at, deleted_at";

export async function insertInstance(tx: Transaction, instance: StoredInstance): Promise<void> {
  await tx.run(
    `insert into instance (id, project_id, provisioner_id, name, created_at)
     values ($1, $2, $3, $4, $5)`,
    [instance.id, instance.projectId, instance.provisionerId, instance.name, instance.createdAt],
  );
}

/** The instance, deleted or not, held against deletion (`share`) or against everybody. */
export async function lockInstance(
  tx: Transaction,
  mode: LockMode,
  id: string,
): Promise<StoredInstance | undefined> {
  return toInstance(await tx.lock(mode, `select ${COLUMNS} from instance where id = $1`, [id]));
}

/** An instance of this project that is not deleted, with its receiver. */
export async function readActiveInstance(
  reader: Reader,
  id: string,
  projectId: string,
): Promise<AnsweredInstance | undefined> {
  const row = await reader.get(
    `select instance.id, instance.name,
       receiver.url, receiver.registration_id, receiver.sealed_secret, receiver.verified_at
     from instance left join receiver on receiver.instance_id = instance.id
     where instance.id = $1 and instance.project_id = $2 and instance.deleted_at is null`,
    [id, projectId],
  );
  if (row === undefined) return undefined;
  return { id: row.id as string, name: row.name as string, receiver: toReceiver(row) };
}

/** @returns names as JSON text by instance id */
export async function readInstanceNames(
  reader: Reader,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const places = ids.map((_, i) => `$${i + 1}`).join(", ");
  const rows = await reader.all(`select id, name from instance where id in (${places})`, ids);
  return new Map(rows.map((row) => [String(row.id), String(row.name)]));
}

export async function renameInstance(tx: Transaction, id: string, name: string): Promise<void> {
  await tx.run("update instance set name = $2 where id = $1", [id, name]);
}

export async function markInstanceDeleted(
  tx: Transaction,
  id: string,
  deletedAt: number,
): Promise<void> {
  await tx.run("update instance set deleted_at = $2 where id = $1", [id, deletedAt]);
}

/**
 * Erases deletion records that are old enough and that nothing refers to any more.
 *
 * @returns how many were erased, at most `limit`
 */
export async function deleteInstancesDeletedBefore(
  tx: Transaction,
  deletedBefore: number,
  limit: number,
): Promise<number> {
  const rows = await tx.all(
    `select id from instance where deleted_at <= $1
       and not exists (select 1 from request where request.instance_id = instance.id)
       and not exists (select 1 from idempotency where idempotency.instance_id = instance.id)
       and not exists (select 1 from receiver where receiver.instance_id = instance.id)
     order by deleted_at limit $2`,
    [deletedBefore, limit],
  );
  for (const { id = null } of rows) {
    await tx.run("delete from credential where holder_id = $1", [id]);
    await tx.run("delete from instance where id = $1", [id]);
  }
  return rows.length;
}

function toInstance(row: Row | undefined): StoredInstance | undefined {
  if (row === undefined) return undefined;
  return {
    id: row.id as string,
    projectId: row.project_id as string,
    provisionerId: row.provisioner_id as string,
    name: row.name as string,
    createdAt: Number(row.created_at),
    deletedAt: row.deleted_at === null ? null : Number(row.deleted_at),
  };
}
