/**
 * What is in force for an instance at the moment at which it asks: its project's policy and the
 * floor, a freeze, grants. One statement, because every call pays for it.
 */

import type { StoredInstance } from "../../core/instance.ts";
import type { Transaction } from "../store.ts";
import { INSTANCE_COLUMNS, toInstance } from "./instances.ts";
import type { InstanceKey } from "./keys.ts";

export interface InForce {
  /** Numbers of the versions; 0 where nothing was published. */
  readonly policyNumber: number;
  readonly floorNumber: number;
  /** Whether a freeze covers the instance. */
  readonly isFrozen: boolean;
  /** Whether there are grants that nobody revoked; they may have ended otherwise. */
  readonly hasGrants: boolean;
  /** Epoch of its deliveries; undefined when it has no receiver. */
  readonly notifyingEpoch: number | undefined;
}

/** The instance, deleted or not, held against deletion, with what is in force for it. */
export async function lockCallingInstance(
  tx: Transaction,
  { projectId, instanceId }: InstanceKey,
): Promise<{ readonly instance: StoredInstance; readonly inForce: InForce } | undefined> {
  const row = await tx.lock(
    "share",
    `select ${INSTANCE_COLUMNS}, delivery_epoch,
       (select max(number) from policy_version where project_id = $1) as policy_number,
       (select max(number) from policy_version where project_id = '') as floor_number,
       (select id from standing_freeze where project_id in ($1, '') and instance_id in ($2, '')
         and lifted_at is null limit 1) as freeze_id,
       (select receiver.registration_id from receiver
         where receiver.project_id = $1 and receiver.instance_id = $2) as registration_id,
       (select id from standing_grant where standing_grant.project_id = $1
         and instance_id = $2 and revoked_at is null limit 1) as grant_id
     from instance where instance.project_id = $1 and instance.id = $2`,
    [projectId, instanceId],
  );
  const instance = toInstance(row);
  if (row === undefined || instance === undefined) return undefined;
  const inForce = {
    policyNumber: Number(row.policy_number ?? 0),
    floorNumber: Number(row.floor_number ?? 0),
    isFrozen: row.freeze_id !== null,
    hasGrants: row.grant_id !== null,
    notifyingEpoch: row.registration_id === null ? undefined : Number(row.delivery_epoch),
  };
  return { instance, inForce };
}
