/**
 * Rows of the table `instance`.
 */

import type { AnsweredInstance, StoredInstance } from "../../../core/instance.ts";
import type { LockMode, Reader, Row, Transaction } from "../../store.ts";
import { toReceiver } from "../deliveries/receivers.ts";
import type { InstanceKey } from "../keys.ts";
import { parseNames, writeNames } from "../names.ts";

export type NewInstance = Omit<StoredInstance, "deletedAt" | "groups" | "ownerId">;

const COLUMNS = `id, project_id, provisioner_id, name, created_at, deleted_at,
  group_names, owner_id`;

/** A new one belongs to no group and has no owner. */
export async function insertInstance(tx: Transaction, instance: NewInstance): Promise<void> {
  await tx.insert(
    `insert into instance (id, project_id, provisioner_id, name, created_at)
     values ($1, $2, $3, $4, $5)`,
    [instance.id, instance.projectId, instance.provisionerId, instance.name, instance.createdAt],
  );
}

/** The instance, deleted or not, locked against deletion (`share`) or against every change. */
export async function lockInstance(
  tx: Transaction,
  mode: LockMode,
  { projectId, instanceId }: InstanceKey,
): Promise<StoredInstance | undefined> {
  const sql = `select ${COLUMNS} from instance where project_id = $1 and id = $2`;
  return toInstance(await tx.lock(mode, sql, [projectId, instanceId]));
}

/** An instance that is not deleted, with its receiver. */
export async function readActiveInstance(
  reader: Reader,
  { projectId, instanceId }: InstanceKey,
): Promise<AnsweredInstance | undefined> {
  const row = await reader.get(
    `select instance.id, instance.name,
       receiver.url, receiver.registration_id, receiver.encrypted_secret, receiver.verified_at
     from instance left join receiver
       on receiver.project_id = instance.project_id and receiver.instance_id = instance.id
     where instance.project_id = $1 and instance.id = $2 and instance.deleted_at is null`,
    [projectId, instanceId],
  );
  if (row === undefined) return undefined;
  return { id: row.id as string, name: row.name as string, receiver: toReceiver(row) };
}

/** @returns instances by their ids, deleted or not */
export async function readInstances(
  reader: Reader,
  projectId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, StoredInstance>> {
  if (ids.length === 0) return new Map();
  const params = ids.map((_, i) => `$${i + 2}`).join(", ");
  const sql = `select ${COLUMNS} from instance
    where project_id = $1 and id in (${params})`;
  const rows = await reader.getMany(sql, [projectId, ...ids]);
  return new Map(rows.map((row) => [String(row.id), fromRow(row)]));
}

/** Instances of the project that are not deleted, in the order of their ids behind one of them. */
export async function listActiveInstances(
  reader: Reader,
  projectId: string,
  after: string,
  limit: number,
): Promise<StoredInstance[]> {
  const rows = await reader.all(
    `select ${COLUMNS} from instance
     where project_id = $1 and id > $2 and deleted_at is null
     order by id limit $3`,
    [projectId, after, limit],
  );
  return rows.map(fromRow);
}

/** True if an instance that is not deleted has this name. Names need not be unique. */
export async function hasInstanceNamed(
  reader: Reader,
  projectId: string,
  name: string,
): Promise<boolean> {
  const sql = `select id from instance
    where project_id = $1 and name = $2 and deleted_at is null limit 1`;
  return (await reader.get(sql, [projectId, name])) !== undefined;
}

/** Puts an instance into these groups and no others, with this owner. */
export async function assignInstance(
  tx: Transaction,
  { projectId, instanceId }: InstanceKey,
  { groups, ownerId }: Pick<StoredInstance, "groups" | "ownerId">,
): Promise<void> {
  const sql =
    "update instance set group_names = $3, owner_id = $4 where project_id = $1 and id = $2";
  await tx.run(sql, [projectId, instanceId, writeNames(groups), ownerId]);
}

/**
 * Gives a reviewer what other reviewers of the same person own in the project.
 *
 * @returns what it now owns of theirs
 */
export async function reassignOwned(
  tx: Transaction,
  { projectId, personId }: { readonly projectId: string; readonly personId: string },
  ownerId: string,
): Promise<StoredInstance[]> {
  const rows = await tx.runReturning(
    `update instance set owner_id = $3
     where project_id = $1 and deleted_at is null and owner_id in
       (select id from reviewer where project_id = $1 and person_id = $2 and id <> $3)
     returning ${COLUMNS}`,
    [projectId, personId, ownerId],
  );
  return rows.map(fromRow);
}

export async function renameInstance(
  tx: Transaction,
  { projectId, instanceId }: InstanceKey,
  name: string,
): Promise<void> {
  const sql = "update instance set name = $3 where project_id = $1 and id = $2";
  await tx.run(sql, [projectId, instanceId, name]);
}

export async function markInstanceDeleted(
  tx: Transaction,
  { projectId, instanceId }: InstanceKey,
  deletedAt: number,
): Promise<void> {
  const sql = "update instance set deleted_at = $3 where project_id = $1 and id = $2";
  await tx.run(sql, [projectId, instanceId, deletedAt]);
}

/**
 * Purges deletion records that are old enough and that nothing refers to any more, of all
 * projects.
 *
 * @returns how many were purged, at most `limit`
 */
export async function deleteInstancesDeletedBefore(
  tx: Transaction,
  deletedBefore: number,
  limit: number,
): Promise<number> {
  const rows = await tx.all(
    `select project_id, id from instance where deleted_at <= $1
       and not exists (select 1 from request
         where request.project_id = instance.project_id and request.instance_id = instance.id)
       and not exists (select 1 from idempotency where
         idempotency.project_id = instance.project_id and idempotency.instance_id = instance.id)
       and not exists (select 1 from receiver
         where receiver.project_id = instance.project_id and receiver.instance_id = instance.id)
     order by deleted_at limit $2`,
    [deletedBefore, limit],
  );
  for (const { project_id: projectId = null, id = null } of rows) {
    await tx.run("delete from credential where holder_id = $1", [id]);
    await tx.run("delete from instance where project_id = $1 and id = $2", [projectId, id]);
  }
  return rows.length;
}

function toInstance(row: Row | undefined): StoredInstance | undefined {
  return row === undefined ? undefined : fromRow(row);
}

function fromRow(row: Row): StoredInstance {
  return {
    id: row.id as string,
    projectId: row.project_id as string,
    provisionerId: row.provisioner_id as string,
    name: row.name as string,
    createdAt: Number(row.created_at),
    deletedAt: row.deleted_at === null ? null : Number(row.deleted_at),
    groups: parseNames(row.group_names),
    ownerId: row.owner_id as string | null,
  };
}
