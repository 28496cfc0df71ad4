/**
 * Rows of the table `notification`: the durable outbox.
 */

import type { StoredReceiver } from "../../../core/instance.ts";
import type {
  Attempt,
  NotificationEndCause,
  StoredNotification,
} from "../../../core/notification.ts";
import type { Reader, Row, Transaction } from "../../store.ts";
import type { InstanceKey, RowKey } from "../keys.ts";

export const NOTIFICATION_COLUMNS = `id, request_id, instance_id, project_id, delivery_epoch,
  body, created_at, next_at, not_before, claimed_until, fence, attempts, retries_from, last_at,
  last_outcome, last_status, ended_at, ended_by`;

const QUALIFIED_COLUMNS = NOTIFICATION_COLUMNS.replace(/\w+/g, "notification.$&");

/** Inserts one that is due at once. */
export async function insertNotification(
  tx: Transaction,
  notification: Pick<
    StoredNotification,
    "id" | "requestId" | "instanceId" | "projectId" | "deliveryEpoch" | "body" | "createdAt"
  >,
): Promise<void> {
  await tx.insert(
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

/** A notification to attempt, with what the attempt depends on as it is now. */
export interface DueNotification {
  readonly notification: StoredNotification;
  /** Of the instance. */
  readonly deliveryEpoch: number;
  readonly isInstanceDeleted: boolean;
  readonly receiver: DueReceiver | null;
}

export type DueReceiver = Pick<StoredReceiver, "url" | "encryptedSecret">;

/** Due notifications of an instance without a lease, the longest waiting first. */
export async function readDueNotifications(
  tx: Transaction,
  { projectId, instanceId }: InstanceKey,
  now: number,
  limit: number,
): Promise<DueNotification[]> {
  const rows = await tx.all(
    `select ${QUALIFIED_COLUMNS}, instance.delivery_epoch as instance_epoch, instance.deleted_at,
       receiver.url, receiver.encrypted_secret
     from notification
     join instance on instance.project_id = notification.project_id
       and instance.id = notification.instance_id
     left join receiver on receiver.project_id = notification.project_id
       and receiver.instance_id = notification.instance_id
     where notification.project_id = $1 and notification.instance_id = $2
       and notification.next_at <= $3
       and (notification.claimed_until is null or notification.claimed_until <= $3)
     order by notification.next_at limit $4`,
    [projectId, instanceId, now, limit],
  );
  return rows.map((row) => ({
    notification: toNotification(row),
    deliveryEpoch: Number(row.instance_epoch),
    isInstanceDeleted: row.deleted_at !== null,
    receiver: toDueReceiver(row),
  }));
}

function toDueReceiver({ url, encrypted_secret: encryptedSecret }: Row): DueReceiver | null {
  if (url === null) return null;
  return { url: url as string, encryptedSecret: encryptedSecret as string };
}

/**
 * No indexed column changes, on purpose: a claim touches one page.
 *
 * @returns false when another transaction was first
 */
export async function claimNotification(
  tx: Transaction,
  { projectId, id, fence }: StoredNotification,
  now: number,
  claimedUntil: number,
): Promise<boolean> {
  // Still due: a late record, which leaves the fence, may have put off the next attempt.
  const claimed = await tx.run(
    `update notification set claimed_until = $5, fence = fence + 1
     where project_id = $1 and id = $2 and fence = $3 and next_at <= $4
       and (claimed_until is null or claimed_until <= $4)`,
    [projectId, id, fence, now, claimedUntil],
  );
  return claimed === 1;
}

/** Ends the leases of a project, for when every holder of one is dead. */
export async function releaseNotifications(
  tx: Transaction,
  projectId: string,
  now: number,
): Promise<void> {
  await tx.run(
    `update notification set claimed_until = null
     where project_id = $1 and next_at <= $2 and claimed_until > $2`,
    [projectId, now],
  );
}

/** Whether this claim is the last one, lasts until then, and delivery has not ended since. */
export async function isClaimCurrent(
  reader: Reader,
  { projectId, id }: RowKey,
  fence: number,
  until: number,
): Promise<boolean> {
  const row = await reader.get(
    `select notification.id
     from notification join instance on instance.project_id = notification.project_id
       and instance.id = notification.instance_id
     where notification.project_id = $1 and notification.id = $2 and notification.fence = $3
       and notification.next_at is not null and notification.claimed_until >= $4
       and notification.delivery_epoch = instance.delivery_epoch`,
    [projectId, id, fence, until],
  );
  return row !== undefined;
}

export async function lockNotification(
  tx: Transaction,
  { projectId, id }: RowKey,
): Promise<StoredNotification | undefined> {
  const sql = `select ${NOTIFICATION_COLUMNS} from notification
    where project_id = $1 and id = $2`;
  const row = await tx.lock("update", sql, [projectId, id]);
  return row === undefined ? undefined : toNotification(row);
}

/** Fields that an attempt changes. */
export type AfterAttempt = Pick<
  StoredNotification,
  "nextAt" | "notBefore" | "attempts" | "retriesFrom" | "last" | "ended"
>;

/**
 * Records a completed attempt.
 *
 * @param fence of the attempt's claim
 * @returns false when delivery has ended meanwhile, the receiver was replaced, or the claim has
 *   passed to another process
 */
export async function updateAttempt(
  tx: Transaction,
  { projectId, id }: RowKey,
  fence: number,
  after: AfterAttempt,
): Promise<boolean> {
  const updated = await tx.run(
    `update notification set next_at = $4, claimed_until = null, attempts = $5, last_at = $6,
       last_outcome = $7, last_status = $8, ended_at = $9, ended_by = $10, not_before = $11
     where project_id = $1 and id = $2 and fence = $3 and retries_from = $12
       and claimed_until is not null and next_at is not null`,
    [
      projectId,
      id,
      fence,
      after.nextAt,
      after.attempts,
      after.last?.at ?? null,
      after.last?.outcome ?? null,
      after.last?.status ?? null,
      after.ended?.at ?? null,
      after.ended?.by ?? null,
      after.notBefore,
      after.retriesFrom,
    ],
  );
  return updated === 1;
}

/**
 * Makes all waiting notifications of an instance due now, for a receiver that was just installed:
 * it inherits neither the `Retry-After` nor the backoff of the receiver before it.
 */
export async function redirectNotifications(
  tx: Transaction,
  { projectId, instanceId }: InstanceKey,
  now: number,
): Promise<void> {
  // An outstanding attempt is one more at the receiver before, and still occupies its claim.
  await tx.run(
    `update notification set not_before = null,
       next_at = case when claimed_until > $3 then next_at else $3 end,
       retries_from = case when claimed_until > $3 then attempts + 1 else attempts end
     where project_id = $1 and instance_id = $2 and next_at is not null`,
    [projectId, instanceId, now],
  );
}

/** Records an attempt that completed after the end of its delivery; the caller locked the row. */
export async function updateLateAttempt(
  tx: Transaction,
  { projectId, id }: RowKey,
  attempts: number,
  last: Attempt | null,
  now: number,
): Promise<void> {
  await tx.run(
    `update notification set claimed_until = null, not_before = null, attempts = $3, last_at = $4,
       last_outcome = $5, last_status = $6, ended_at = $7
     where project_id = $1 and id = $2`,
    [projectId, id, attempts, last?.at ?? null, last?.outcome ?? null, last?.status ?? null, now],
  );
}

/** @returns false when it had ended before */
export async function endNotification(
  tx: Transaction,
  { projectId, id }: RowKey,
  by: NotificationEndCause,
  at: number,
): Promise<boolean> {
  const ended = await tx.run(
    `update notification set next_at = null, ended_by = $3, ended_at =
       case when claimed_until > $4 then claimed_until else $4 end
     where project_id = $1 and id = $2 and next_at is not null`,
    [projectId, id, by, at],
  );
  return ended === 1;
}

/**
 * Ends those of epochs before `epoch` that have not ended otherwise. One with an outstanding
 * attempt ends with its lease, unless the attempt reports earlier.
 *
 * @returns how many, at most `limit`
 */
export async function endNotificationsBefore(
  tx: Transaction,
  { projectId, instanceId }: InstanceKey,
  epoch: number,
  by: NotificationEndCause,
  now: number,
  limit: number,
): Promise<number> {
  return tx.run(
    `update notification set next_at = null, ended_by = $5, ended_at =
       case when claimed_until > $4 then claimed_until else $4 end
     where project_id = $1 and ended_by is null and id in (select id from notification
       where project_id = $1 and instance_id = $2 and next_at is not null
         and delivery_epoch < $3 limit $6)`,
    [projectId, instanceId, epoch, now, by, limit],
  );
}

/** Makes one due now, or when the receiver asked for it; not if it is attempted or has ended. */
export async function retryNotificationNow(
  tx: Transaction,
  { projectId, id }: RowKey,
  now: number,
): Promise<boolean> {
  const updated = await tx.run(
    `update notification
     set next_at = case when not_before > $3 then not_before else $3 end
     where project_id = $1 and id = $2 and next_at > $3 and next_at > coalesce(not_before, 0)
       and (claimed_until is null or claimed_until <= $3)`,
    [projectId, id, now],
  );
  return updated === 1;
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
    retriesFrom: Number(row.retries_from),
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
