/**
 * Rows of the table `notification`: the durable outbox.
 */

import type { Attempt, NotificationEndCause, StoredNotification } from "../../core/notification.ts";
import type { Reader, Row, Transaction } from "../store.ts";

export const NOTIFICATION_COLUMNS = `id, request_id, instance_id, project_id, delivery_epoch,
  body, created_at, next_at, not_before, claimed_until, fence, attempts, last_at, last_outcome,
  last_status, ended_at, ended_by`;

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

/** Those of an instance that are due, the longest waiting first. */
export async function readDueNotifications(
  tx: Transaction,
  instanceId: string,
  now: number,
  limit: number,
): Promise<StoredNotification[]> {
  const rows = await tx.all(
    `select ${NOTIFICATION_COLUMNS} from notification where instance_id = $1 and next_at <= $2
     order by next_at limit $3`,
    [instanceId, now, limit],
  );
  return rows.map(toNotification);
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

/** Whether this claim is the last one, lasts until then, and delivery has not ended since. */
export async function isClaimCurrent(
  reader: Reader,
  id: string,
  fence: number,
  until: number,
): Promise<boolean> {
  const row = await reader.get(
    `select notification.id
     from notification join instance on instance.id = notification.instance_id
     where notification.id = $1 and notification.fence = $2 and notification.next_at is not null
       and notification.claimed_until >= $3
       and notification.delivery_epoch = instance.delivery_epoch`,
    [id, fence, until],
  );
  return row !== undefined;
}

export async function lockNotification(
  tx: Transaction,
  id: string,
): Promise<StoredNotification | undefined> {
  const sql = `select ${NOTIFICATION_COLUMNS} from notification where id = $1`;
  const row = await tx.lock("update", sql, [id]);
  return row === undefined ? undefined : toNotification(row);
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
 * Ends those of epochs before `epoch` that have not ended otherwise. One with an outstanding
 * attempt ends with its lease, unless the attempt reports earlier.
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
     where next_at is not null and id in (select id from notification
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

export function toNotification(row: Row): StoredNotification {
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
