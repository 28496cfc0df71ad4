/**
 * Rows of the table `receiver`: where an instance is notified.
 */

import type { StoredReceiver } from "../../core/instance.ts";
import type { Reader, Row, Transaction } from "../store.ts";

/** Installs a verified receiver, in place of the one before it. */
export async function putReceiver(
  tx: Transaction,
  instanceId: string,
  receiver: StoredReceiver,
): Promise<void> {
  await tx.run(
    `insert into receiver (instance_id, url, registration_id, sealed_secret, verified_at)
     values ($1, $2, $3, $4, $5)
     on conflict (instance_id) do update set url = excluded.url,
       registration_id = excluded.registration_id, sealed_secret = excluded.sealed_secret,
       verified_at = excluded.verified_at`,
    [instanceId, receiver.url, receiver.registrationId, receiver.sealedSecret, receiver.verifiedAt],
  );
}

/** What its notifications are written and attempted under. */
export interface DeliveryState {
  readonly instanceId: string;
  readonly epoch: number;
  /** Provisioning account. */
  readonly provisionerId: string;
  readonly isDeleted: boolean;
  readonly receiver: StoredReceiver | null;
}

export async function readDeliveryState(
  reader: Reader,
  instanceId: string,
): Promise<DeliveryState | undefined> {
  const row = await reader.get(
    `select instance.delivery_epoch, instance.provisioner_id, instance.deleted_at,
       receiver.url, receiver.registration_id, receiver.sealed_secret, receiver.verified_at
     from instance left join receiver on receiver.instance_id = instance.id
     where instance.id = $1`,
    [instanceId],
  );
  if (row === undefined) return undefined;
  return {
    instanceId,
    epoch: Number(row.delivery_epoch),
    provisionerId: row.provisioner_id as string,
    isDeleted: row.deleted_at !== null,
    receiver: toReceiver(row),
  };
}

/** The epoch in which notifications of this instance are written; undefined without receiver. */
export async function readNotifyingEpoch(
  tx: Transaction,
  instanceId: string,
): Promise<number | undefined> {
  const row = await tx.get(
    `select instance.delivery_epoch
     from receiver join instance on instance.id = receiver.instance_id
     where receiver.instance_id = $1`,
    [instanceId],
  );
  return row === undefined ? undefined : Number(row.delivery_epoch);
}

/**
 * Removes the receiver and with it ends the delivery of all notifications written so far: their
 * epoch has passed.
 *
 * @returns whether there was one
 */
export async function removeReceiver(tx: Transaction, instanceId: string): Promise<boolean> {
  const removed = await tx.run("delete from receiver where instance_id = $1", [instanceId]);
  if (removed === 0) return false;
  await tx.run("update instance set delivery_epoch = delivery_epoch + 1 where id = $1", [
    instanceId,
  ]);
  return true;
}

/** From a row with the columns of `receiver`, null in all of them when there is none. */
export function toReceiver(row: Row): StoredReceiver | null {
  if (row.url === null) return null;
  return {
    url: row.url as string,
    registrationId: row.registration_id as string,
    sealedSecret: row.sealed_secret as string,
    verifiedAt: Number(row.verified_at),
  };
}
