/**
 * Rows of the table `notification`: the durable outbox.
 */

import type { Attempt, NotificationEndCause, StoredNotification } from "../../core/notification.ts";
import type { Reader, Row, Transaction } from "../store.ts";

const COLUMNS = `id, request_id, instance_id, project_id, delivery_epoch, body, created_at,
  next_at, not_before, claimed_until, fence, attempts, last_at, last_outcome, last_status,
  ended_at, ended_by`;

/** Inserts one that is due at once. */
export async function insertNotification(
  tx: Transaction,
  notification: Pick<
    StoredNotification,
    "id" | "requestId" | "instanceId" | "projectId" | "deliveryEpoch" | "body" | "createdAt"
  >,
): Promise<void> {
  await tx.run(
    `insert into notification (id, request_id, instance_id, project_id, delivery_epoch, body,
       created_at, next_at, fence, attempts)
     values ($1, $2, $3, $4, $5, $6, $7, $7, 0, 0)`,
    [
      notification.id,
      notification.requestId,
      notification.instanceId,
      notification.projectId,
      notification.deliveryEpoch,
      notification.body,
      notification.createdAt,
    ],
  );
}

/** An instance that has notifications to attempt now. */
export interface WaitingInstance {
  readonly instanceId: string;
  /** Provisioning account. */
  readonly provisionerId: string;
  /** Null when its receiver is gone and only the end is to be recorded. */
  readonly url: string | null;
  /** When the earliest was due. */
  readonly dueAt: number;
}

/** Of a walk over all instances that have something to deliver, now or later. */
export interface WaitingPage {
  /** Those that have something due. */
  readonly waiting: readonly WaitingInstance[];
  /** Where the next page begins; undefined when this was the last. */
  readonly next: string | undefined;
}

/**
 * Steps from instance to instance on the index rather than over every notification: one instance
 * with a long queue costs no more than another, and a page no more than `limit` steps.
 *
 * @param after an id; instances up to it are left out
 * @param limit bounds the instances that are looked at, due or not
 */
export async function readWaitingInstances(
  reader: Reader,
  now: number,
  after: string,
  limit: number,
): Promise<WaitingPage> {
  const rows = await reader.all(
    `with recursive waiting (instance_id, step) as (
       select (select min(instance_id) from notification
               where next_at is not null and instance_id > $2), 1
       union all
       select (select min(notification.instance_id) from notification
               where notification.next_at is not null
                 and notification.instance_id > waiting.instance_id), waiting.step + 1
       from waiting where waiting.instance_id is not null and waiting.step < $3
     )
     select due.instance_id, due.due_at, instance.provisioner_id, receiver.url
     from (select waiting.instance_id,
             (select min(notification.next_at) from notification
              where notification.instance_id = waiting.instance_id
                and notification.next_at is not null) as due_at
           from waiting where waiting.instance_id is not null) as due
     left join instance on instance.id = due.instance_id and due.due_at <= $1
     left join receiver on receiver.instance_id = instance.id
     order by due.instance_id`,
    [now, after, limit],
  );
  const due = rows.filter((row) => row.provisioner_id !== null);
  return {
    waiting: due.map((row) => ({
      instanceId: row.instance_id as string,
      provisionerId: row.provisioner_id as string,
      url: row.url as string | null,
      dueAt: Number(row.due_at),
    })),
    next: rows.length < limit ? undefined : (rows.at(-1)?.instance_id as string),
  };
}

/** The same of one instance, whether or not something is due. */
export async function readWaitingInstance(
  reader: Reader,
  instanceId: string,
  now: number,
): Promise<WaitingInstance | undefined> {
  const row = await reader.get(
    `select instance.provisioner_id, receiver.url
     from instance left join receiver on receiver.instance_id = instance.id
     where instance.id = $1`,
    [instanceId],
  );
  if (row === undefined) return undefined;
  const provisionerId = row.provisioner_id as string;
  return { instanceId, provisionerId, url: row.url as string | null, dueAt: now };
}

/** Those of an instance that are due, the longest waiting first. */
export async function readDueNotifications(
  tx: Transaction,
  instanceId: string,
  now: number,
  limit: number,
): Promise<StoredNotification[]> {
  const rows = await tx.all(
    `select ${COLUMNS} from notification where instance_id = $1 and next_at <= $2
     order by next_at limit $3`,
    [instanceId, now, limit],
  );
  return rows.map(fromRow);
}

/** @returns false when somebody else was faster */
export async function claimNotification(
  tx: Transaction,
  { id, fence }: StoredNotification,
  claimedUntil: number,
): Promise<boolean> {
  const claimed = await tx.run(
    `update notification set next_at = $3, claimed_until = $3, fence = fence + 1
     where id = $1 and fence = $2 and next_at is not null`,
    [id, fence, claimedUntil],
  );
  return claimed === 1;
}

/** Makes due now what is leased, for when every holder of a lease is dead. */
export async function releaseNotifications(tx: Transaction, now: number): Promise<void> {
  await tx.run(
    `update notification set next_at = $1, claimed_until = null
     where claimed_until > $1 and next_at is not null`,
    [now],
  );
}

export async function lockNotification(
  tx: Transaction,
  id: string,
): Promise<StoredNotification | undefined> {
  const sql = `select ${COLUMNS} from notification where id = $1`;
  const row = await tx.lock("update", sql, [id]);
  return row === undefined ? undefined : fromRow(row);
}

/** What an attempt changes. */
export type AfterAttempt = Pick<
  StoredNotification,
  "nextAt" | "notBefore" | "attempts" | "last" | "ended"
>;

/** What a completed attempt leaves; the caller has locked the row and checked the fence. */
export async function updateAttempt(
  tx: Transaction,
  id: string,
  after: AfterAttempt,
): Promise<void> {
  await tx.run(
    `update notification set next_at = $2, claimed_until = null, attempts = $3, last_at = $4,
       last_outcome = $5, last_status = $6, ended_at = $7, ended_by = $8, not_before = $9
     where id = $1`,
    [
      id,
      after.nextAt,
      after.attempts,
      after.last?.at ?? null,
      after.last?.outcome ?? null,
      after.last?.status ?? null,
      after.ended?.at ?? null,
      after.ended?.by ?? null,
      after.notBefore,
    ],
  );
}

export async function endNotification(
  tx: Transaction,
  id: string,
  by: NotificationEndCause,
  at: number,
): Promise<void> {
  await tx.run(
    `update notification set next_at = null, ended_by = $2, ended_at =
       case when claimed_until > $3 then claimed_until else $3 end
     where id = $1 and next_at is not null`,
    [id, by, at],
  );
}

/**
 * Ends those of epochs before `epoch`. One with an outstanding attempt ends with its lease,
 * unless the attempt reports earlier.
 *
 * @returns how many, at most `limit`
 */
export async function endNotificationsBefore(
  tx: Transaction,
  instanceId: string,
  epoch: number,
  by: NotificationEndCause,
  now: number,
  limit: number,
): Promise<number> {
  return tx.run(
    `update notification set next_at = null, ended_by = $4, ended_at =
       case when claimed_until > $3 then claimed_until else $3 end
     where id in (select id from notification
       where instance_id = $1 and next_at is not null and delivery_epoch < $2 limit $5)`,
    [instanceId, epoch, now, by, limit],
  );
}

/** Makes one due now, or when the receiver asked for it; not if it is attempted or has ended. */
export async function hurryNotification(
  tx: Transaction,
  id: string,
  now: number,
): Promise<boolean> {
  const hurried = await tx.run(
    `update notification
     set next_at = case when not_before > $2 then not_before else $2 end
     where id = $1 and next_at > $2 and next_at > coalesce(not_before, 0)
       and (claimed_until is null or claimed_until <= $2)`,
    [id, now],
  );
  return hurried === 1;
}

export async function countWaitingNotifications(reader: Reader): Promise<number> {
  const row = await reader.get(
    "select count(*) as waiting from notification where next_at is not null",
  );
  return Number(row?.waiting ?? 0);
}

/** A place in a listing: the time it is sorted by, and the id. */
interface Place {
  readonly at: number;
  readonly id: string;
}

/** Those still to be delivered, by when they are attempted next. */
export async function listWaitingNotifications(
  reader: Reader,
  projectId: string,
  after: Place,
  limit: number,
): Promise<StoredNotification[]> {
  const rows = await reader.all(
    `select ${COLUMNS} from notification
     where next_at is not null and project_id = $1 and (next_at, id) > ($2, $3)
     order by next_at, id limit $4`,
    [projectId, after.at, after.id, limit],
  );
  return rows.map(fromRow);
}

/** Those whose delivery has ended, the latest first. */
export async function listEndedNotifications(
  reader: Reader,
  projectId: string,
  before: Place,
  limit: number,
): Promise<StoredNotification[]> {
  const rows = await reader.all(
    `select ${COLUMNS} from notification
     where ended_at is not null and project_id = $1 and (ended_at, id) < ($2, $3)
     order by ended_at desc, id desc limit $4`,
    [projectId, before.at, before.id, limit],
  );
  return rows.map(fromRow);
}

/** By its own id or by that of its request. */
export async function readNotificationOfProject(
  reader: Reader,
  id: string,
  projectId: string,
): Promise<StoredNotification | undefined> {
  const row = await reader.get(
    `select ${COLUMNS} from notification where (id = $1 or request_id = $1) and project_id = $2`,
    [id, projectId],
  );
  return row === undefined ? undefined : fromRow(row);
}

/** What an instance's notifications are seen under. */
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
  ids: readonly string[],
): Promise<ReadonlyMap<string, NotifiedInstance>> {
  if (ids.length === 0) return new Map();
  const places = ids.map((_, i) => `$${i + 1}`).join(", ");
  const rows = await reader.all(
    `select instance.id, instance.name, instance.delivery_epoch, instance.deleted_at, receiver.url
     from instance left join receiver on receiver.instance_id = instance.id
     where instance.id in (${places})`,
    ids,
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
  instanceId: string,
  after: Place,
  now: number,
  limit: number,
): Promise<Place[]> {
  const rows = await reader.all(
    `select id, next_at from notification
     where instance_id = $1 and next_at is not null and (next_at, id) > ($2, $3)
       and (claimed_until is null or claimed_until <= $4)
       and delivery_epoch >= (select delivery_epoch from instance where id = $1)
     order by next_at, id limit $5`,
    [instanceId, after.at, after.id, now, limit],
  );
  return rows.map((row) => ({ at: Number(row.next_at), id: row.id as string }));
}

function fromRow(row: Row): StoredNotification {
  return {
    id: row.id as string,
    requestId: row.request_id as string,
    instanceId: row.instance_id as string,
    projectId: row.project_id as string,
    deliveryEpoch: Number(row.delivery_epoch),
    body: row.body as string,
    createdAt: Number(row.created_at),
    nextAt: toNumber(row.next_at),
    notBefore: toNumber(row.not_before),
    claimedUntil: toNumber(row.claimed_until),
    fence: Number(row.fence),
    attempts: Number(row.attempts),
    last: toAttempt(row),
    ended:
      row.ended_at === null
        ? null
        : { at: Number(row.ended_at), by: row.ended_by as NotificationEndCause },
  };
}

function toAttempt(row: Row): Attempt | null {
  if (row.last_at === null) return null;
  return {
    at: Number(row.last_at),
    outcome: row.last_outcome as string,
    status: toNumber(row.last_status),
  };
}

function toNumber(value: Row[string] | undefined): number | null {
  return value === null || value === undefined ? null : Number(value);
}
