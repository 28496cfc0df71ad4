/**
 * Scans over the pending rows of the table `request`: what a worker or a deletion has to resolve.
 */

import type { Reader } from "../../store.ts";
import type { InstanceKey, RowKey } from "../keys.ts";

/** In the order of their ids, in which everybody locks several requests. */
export async function readPendingIdsOfInstance(
  reader: Reader,
  { projectId, instanceId }: InstanceKey,
  limit: number,
): Promise<string[]> {
  const rows = await reader.all(
    `select id from request where status = 'pending' and project_id = $1 and instance_id = $2
     limit $3`,
    [projectId, instanceId, limit],
  );
  return rows.map((row) => String(row.id)).sort();
}

/** Instances of all projects whose deletion was interrupted before their requests had ended. */
export async function readHalfDeletedInstances(
  reader: Reader,
  limit: number,
): Promise<InstanceKey[]> {
  const rows = await reader.all(
    `select project_id, id from instance where deleted_at is not null and exists
       (select 1 from request where request.project_id = instance.project_id
         and request.instance_id = instance.id and request.status = 'pending') limit $1`,
    [limit],
  );
  return rows.map((row) => ({
    projectId: row.project_id as string,
    instanceId: row.id as string,
  }));
}

/** A request, and the instance that is locked with it. */
export interface InstanceRequestKey extends RowKey {
  readonly instanceId: string;
}

/** The order in which every transaction locks several requests and their instances. */
export function compareLockOrder(a: InstanceRequestKey, b: InstanceRequestKey): number {
  if (a.instanceId !== b.instanceId) return a.instanceId < b.instanceId ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

/** Pending requests of all projects whose window has passed, in the order to lock them. */
export async function readOverdue(
  reader: Reader,
  now: number,
  limit: number,
): Promise<InstanceRequestKey[]> {
  const rows = await reader.all(
    `select project_id, instance_id, id from request
     where status = 'pending' and deadline_at <= $1 order by deadline_at limit $2`,
    [now, limit],
  );
  return rows
    .map((row) => ({
      projectId: row.project_id as string,
      instanceId: row.instance_id as string,
      id: row.id as string,
    }))
    .sort(compareLockOrder);
}

export async function readNextDeadline(reader: Reader): Promise<number | undefined> {
  const row = await reader.get(
    "select deadline_at from request where status = 'pending' order by deadline_at limit 1",
  );
  return row === undefined ? undefined : Number(row.deadline_at);
}

export async function countPending(reader: Reader): Promise<number> {
  const [row] = await reader.all(
    "select count(*) as pending from request where status = 'pending'",
  );
  return Number(row?.pending ?? 0);
}

/** Ids of pending requests of a project, the earliest deadline first. */
export async function readPendingIds(
  reader: Reader,
  projectId: string,
  limit: number,
): Promise<string[]> {
  const rows = await reader.all(
    `select id from request where status = 'pending' and project_id = $1
     order by deadline_at limit $2`,
    [projectId, limit],
  );
  return rows.map((row) => row.id as string);
}
