/**
 * What is in force for an instance at the moment at which it asks: its project's policy and the
 * floor, a freeze, grants. One statement, because every call pays for it.
 */

import type { Transaction } from "../store.ts";
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

/**
 * To be sent behind the lock of the instance and not in one statement with it: a statement that
 * waits for a lock sees what was committed before it began, and would miss a freeze since then.
 */
export async function readInForce(
  tx: Transaction,
  { projectId, instanceId }: InstanceKey,
): Promise<InForce> {
  const row = await tx.get(
    `select
       (select max(number) from policy_version where project_id = $1) as policy_number,
       (select max(number) from policy_version where project_id = '') as floor_number,
       (select id from standing_freeze where project_id in ($1, '') and instance_id in ($2, '')
         and lifted_at is null limit 1) as freeze_id,
       (select id from standing_grant where standing_grant.project_id = $1
         and instance_id = $2 and revoked_at is null limit 1) as grant_id,
       (select delivery_epoch from receiver join instance
         on instance.project_id = receiver.project_id and instance.id = receiver.instance_id
         where receiver.project_id = $1 and receiver.instance_id = $2) as notifying_epoch`,
    [projectId, instanceId],
  );
  if (row === undefined) throw new Error("a select without a table has one row");
  return {
    policyNumber: Number(row.policy_number ?? 0),
    floorNumber: Number(row.floor_number ?? 0),
    isFrozen: row.freeze_id !== null,
    hasGrants: row.grant_id !== null,
    notifyingEpoch: row.notifying_epoch === null ? undefined : Number(row.notifying_epoch),
  };
}
