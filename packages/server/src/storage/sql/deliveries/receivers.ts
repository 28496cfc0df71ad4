/**
 * Rows of the table `receiver`: where an instance is notified.
 */

import type { StoredReceiver } from "../../../core/instance.ts";
import type { Reader, Row, Transaction } from "../../store.ts";
import type { InstanceKey } from "../keys.ts";

/** Installs a verified receiver, in place of the one before it. */
export async function putReceiver(
  tx: Transaction,
  { projectId, instanceId }: InstanceKey,
  { url, registrationId, encryptedSecret, verifiedAt }: StoredReceiver,
): Promise<void> {
  await tx.run(
    `insert into receiver
       (project_id, instance_id, url, registration_id, encrypted_secret, verified_at)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (project_id, instance_id) do update set url = excluded.url,
       registration_id = excluded.registration_id, encrypted_secret = excluded.encrypted_secret,
       verified_at = excluded.verified_at`,
    [projectId, instanceId, url, registrationId, encryptedSecret, verifiedAt],
  );
}

/** The data that writing and attempting an instance's notifications depends on. */
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
  { projectId, instanceId }: InstanceKey,
): Promise<DeliveryState | undefined> {
  const row = await reader.get(
    `select instance.delivery_epoch, instance.provisioner_id, instance.deleted_at,
       receiver.url, receiver.registration_id, receiver.encrypted_secret, receiver.verified_at
     from instance left join receiver
       on receiver.project_id = instance.project_id and receiver.instance_id = instance.id
     where instance.project_id = $1 and instance.id = $2`,
    [projectId, instanceId],
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
  { projectId, instanceId }: InstanceKey,
): Promise<number | undefined> {
  const row = await tx.get(
    `select instance.delivery_epoch
     from receiver join instance
       on instance.project_id = receiver.project_id and instance.id = receiver.instance_id
     where receiver.project_id = $1 and receiver.instance_id = $2`,
    [projectId, instanceId],
  );
  return row === undefined ? undefined : Number(row.delivery_epoch);
}

/**
 * Removes the receiver and with it ends the delivery of all notifications written so far: their
 * epoch has passed.
 *
 * @returns whether there was one
 */
export async function removeReceiver(
  tx: Transaction,
  { projectId, instanceId }: InstanceKey,
): Promise<boolean> {
  const remove = "delete from receiver where project_id = $1 and instance_id = $2";
  if ((await tx.run(remove, [projectId, instanceId])) === 0) return false;
  await tx.run(
    "update instance set delivery_epoch = delivery_epoch + 1 where project_id = $1 and id = $2",
    [projectId, instanceId],
  );
  return true;
}

/** From a row with the columns of `receiver`, null in all of them when there is none. */
export function toReceiver(row: Row): StoredReceiver | null {
  if (row.url === null) return null;
  return {
    url: row.url as string,
    registrationId: row.registration_id as string,
    encryptedSecret: row.encrypted_secret as string,
    verifiedAt: Number(row.verified_at),
  };
}
