/**
 * Rows of the table `notification` for lists and pages.
 */

import type { StoredNotification } from "../../../core/notification.ts";
import type { Reader, Row } from "../../store.ts";
import type { InstanceKey, RowKey } from "../keys.ts";
import { NOTIFICATION_COLUMNS, toNotification } from "./notifications.ts";

export async function countWaitingNotifications(reader: Reader): Promise<number> {
  const [row] = await reader.all(
    "select count(*) as waiting from notification where next_at is not null",
  );
  return Number(row?.waiting ?? 0);
}

/** A position in a listing: the time it is sorted by, and the id. */
interface Cursor {
  readonly at: number;
  readonly id: string;
}

/** Those still to be delivered, by when they are attempted next. */
export async function listWaitingNotifications(
  reader: Reader,
  projectId: string,
  after: Cursor,
  limit: number,
): Promise<StoredNotification[]> {
  const rows = await reader.all(
    `select ${NOTIFICATION_COLUMNS} from notification
     where next_at is not null and project_id = $1 and (next_at, id) > ($2, $3)
     order by next_at, id limit $4`,
    [projectId, after.at, after.id, limit],
  );
  return rows.map(toNotification);
}

/** The same of one instance. */
export async function listWaitingOfInstance(
  reader: Reader,
  { projectId, instanceId }: InstanceKey,
  after: Cursor,
  limit: number,
): Promise<StoredNotification[]> {
  const rows = await reader.all(
    `select ${NOTIFICATION_COLUMNS} from notification
     where project_id = $1 and instance_id = $2 and next_at is not null
       and (next_at, id) > ($3, $4)
     order by next_at, id limit $5`,
    [projectId, instanceId, after.at, after.id, limit],
  );
  return rows.map(toNotification);
}

/** Those whose delivery has ended, the latest first. */
export async function listEndedNotifications(
  reader: Reader,
  projectId: string,
  before: Cursor,
  limit: number,
): Promise<StoredNotification[]> {
  const rows = await reader.all(
    `select ${NOTIFICATION_COLUMNS} from notification
     where ended_at is not null and project_id = $1 and (ended_at, id) < ($2, $3)
     order by ended_at desc, id desc limit $4`,
    [projectId, before.at, before.id, limit],
  );
  return rows.map(toNotification);
}

/** By its own id or by that of its request. */
export async function readNotificationOfProject(
  reader: Reader,
  { projectId, id }: RowKey,
): Promise<StoredNotification | undefined> {
  const row = await reader.get(
    `select ${NOTIFICATION_COLUMNS} from notification
     where (project_id = $1 and id = $2) or (project_id = $1 and request_id = $2)`,
    [projectId, id],
  );
  return row === undefined ? undefined : toNotification(row);
}

/** The instance data that a list of its notifications needs. */
export interface NotifiedInstance {
  /** JSON text. */
  readonly name: string;
  /** Delivery of notifications with an earlier one has ended. */
  readonly deliveryEpoch: number;
  readonly isDeleted: boolean;
  /** Where its receiver is now; null when it has none. */
  readonly url: string | null;
}

/** @returns by instance id */
export async function readNotifiedInstances(
  reader: Reader,
  projectId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, NotifiedInstance>> {
  if (ids.length === 0) return new Map();
  const params = ids.map((_, i) => `$${i + 2}`).join(", ");
  const rows = await reader.getMany(
    `select instance.id, instance.name, instance.delivery_epoch, instance.deleted_at, receiver.url
     from instance left join receiver
       on receiver.project_id = instance.project_id and receiver.instance_id = instance.id
     where instance.project_id = $1 and instance.id in (${params})`,
    [projectId, ...ids],
  );
  return new Map(rows.map((row) => [row.id as string, toNotifiedInstance(row)]));
}

function toNotifiedInstance(row: Row): NotifiedInstance {
  return {
    name: row.name as string,
    deliveryEpoch: Number(row.delivery_epoch),
    isDeleted: row.deleted_at !== null,
    url: row.url as string | null,
  };
}

/**
 * Those of an instance that wait for a later time and are not being attempted, by that time.
 *
 * @param after those up to it are left out
 */
export async function readLaterNotifications(
  reader: Reader,
  { projectId, instanceId }: InstanceKey,
  after: Cursor,
  now: number,
  limit: number,
): Promise<Cursor[]> {
  const rows = await reader.all(
    `select id, next_at from notification
     where project_id = $1 and instance_id = $2 and next_at is not null
       and (next_at, id) > ($3, $4) and (claimed_until is null or claimed_until <= $5)
       and delivery_epoch >=
         (select delivery_epoch from instance where project_id = $1 and id = $2)
     order by next_at, id limit $6`,
    [projectId, instanceId, after.at, after.id, now, limit],
  );
  return rows.map((row) => ({ at: Number(row.next_at), id: row.id as string }));
}
