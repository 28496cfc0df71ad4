/**
 * Rows of the tables `request` and `instance` that a freeze covers, scanned page by page.
 */

import type { StoredFreeze } from "../../../core/freeze.ts";
import type { Reader, Row, Transaction } from "../../store.ts";
import type { InstanceRequestKey } from "../requests/pending-requests.ts";
import type { Cursor } from "../requests/requests.ts";
import { EVERY_INSTANCE } from "./freezes.ts";

export type FreezeCover = Pick<StoredFreeze, "projectId" | "instanceId">;

/** A pending request and its position in the order of the scan. */
export interface FrozenRequest extends InstanceRequestKey {
  readonly deadlineAt: number;
}

/** Pending requests after a cursor that a freeze covers, those that end first at the front. */
export async function readFrozenRequests(
  reader: Reader,
  cover: FreezeCover,
  after: Cursor,
  limit: number,
): Promise<FrozenRequest[]> {
  if (cover.projectId === "") return readPendingOfAll(reader, after, limit);
  if (cover.instanceId === EVERY_INSTANCE) {
    return readPendingOfProject(reader, cover.projectId, after, limit);
  }
  return readPendingOfInstance(reader, cover, after, limit);
}

async function readPendingOfAll(
  reader: Reader,
  after: Cursor,
  limit: number,
): Promise<FrozenRequest[]> {
  const rows = await reader.all(
    `select project_id, instance_id, id, deadline_at from request
     where status = 'pending' and (deadline_at, id) > ($1, $2)
     order by deadline_at, id limit $3`,
    [after.at, after.id, limit],
  );
  return rows.map(toCovered);
}

async function readPendingOfProject(
  reader: Reader,
  projectId: string,
  after: Cursor,
  limit: number,
): Promise<FrozenRequest[]> {
  const rows = await reader.all(
    `select project_id, instance_id, id, deadline_at from request
     where status = 'pending' and project_id = $1 and (deadline_at, id) > ($2, $3)
     order by deadline_at, id limit $4`,
    [projectId, after.at, after.id, limit],
  );
  return rows.map(toCovered);
}

/** By what is pending in its project: that is less than what an instance has ever asked. */
async function readPendingOfInstance(
  reader: Reader,
  { projectId, instanceId }: FreezeCover,
  after: Cursor,
  limit: number,
): Promise<FrozenRequest[]> {
  const rows = await reader.all(
    `select project_id, instance_id, id, deadline_at from request
     where status = 'pending' and project_id = $1 and instance_id = $2
       and (deadline_at, id) > ($3, $4)
     order by deadline_at, id limit $5`,
    [projectId, instanceId, after.at, after.id, limit],
  );
  return rows.map(toCovered);
}

/** Ids of instances of a project behind an id, in their order; deleted ones are left out. */
export async function readInstanceIds(
  reader: Reader,
  projectId: string,
  after: string,
  limit: number,
): Promise<string[]> {
  const rows = await reader.all(
    `select id from instance where project_id = $1 and id > $2 and deleted_at is null
     order by id limit $3`,
    [projectId, after, limit],
  );
  return rows.map((row) => String(row.id));
}

/** Holds all instances from one id to another, in the order of their ids. */
export async function lockInstances(
  tx: Transaction,
  projectId: string,
  first: string,
  last: string,
): Promise<void> {
  const sql = `select id from instance
    where project_id = $1 and id >= $2 and id <= $3 and deleted_at is null order by id`;
  await tx.lock("update", sql, [projectId, first, last]);
}

function toCovered(row: Row): FrozenRequest {
  return {
    projectId: row.project_id as string,
    instanceId: row.instance_id as string,
    id: row.id as string,
    deadlineAt: Number(row.deadline_at),
  };
}
