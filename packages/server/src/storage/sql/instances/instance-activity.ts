/**
 * Activity of instances for display: pending requests, the time of the last request, and the state
 * of receivers. A call of an instance writes nothing for it.
 */

import type { Reader } from "../../store.ts";
import type { InstanceKey } from "../keys.ts";

/** Of a project, in which what waits is counted. */
const PENDING_MAX = 10_000;

/** Pending requests by instance, among those of the project that end first. */
export async function countPendingOfInstances(
  reader: Reader,
  projectId: string,
): Promise<ReadonlyMap<string, number>> {
  const rows = await reader.all(
    `select instance_id, count(*) as pending from
       (select instance_id from request where status = 'pending' and project_id = $1
        order by deadline_at limit $2) as waiting
     group by instance_id`,
    [projectId, PENDING_MAX],
  );
  return new Map(rows.map((row) => [row.instance_id as string, Number(row.pending)]));
}

/** Epoch ms; undefined when it has made none that is still kept. */
export async function readLastRequestAt(
  reader: Reader,
  { projectId, instanceId }: InstanceKey,
): Promise<number | undefined> {
  const row = await reader.get(
    `select created_at from request where project_id = $1 and instance_id = $2
     order by created_at desc limit 1`,
    [projectId, instanceId],
  );
  return row === undefined ? undefined : Number(row.created_at);
}

/** The receivers of these instances, by instance. */
export async function readReceiversOf(
  reader: Reader,
  projectId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, { readonly url: string; readonly verifiedAt: number }>> {
  if (ids.length === 0) return new Map();
  const params = ids.map((_, i) => `$${i + 2}`).join(", ");
  const rows = await reader.getMany(
    `select instance_id, url, verified_at from receiver
     where project_id = $1 and instance_id in (${params})`,
    [projectId, ...ids],
  );
  return new Map(
    rows.map((row) => {
      const receiver = { url: row.url as string, verifiedAt: Number(row.verified_at) };
      return [row.instance_id as string, receiver];
    }),
  );
}

/** A delivery that has not ended. */
export interface WaitingDelivery {
  readonly attempts: number;
  /** Epoch ms. */
  readonly nextAt: number;
  readonly last: {
    readonly at: number;
    readonly outcome: string;
    readonly status: number | null;
  } | null;
}

/** Those of an instance under its receiver of now, in the order of their next attempts. */
export async function readWaitingDeliveries(
  reader: Reader,
  { projectId, instanceId }: InstanceKey,
  limit: number,
): Promise<WaitingDelivery[]> {
  const rows = await reader.all(
    `select attempts, next_at, last_at, last_outcome, last_status from notification
     where project_id = $1 and instance_id = $2 and next_at is not null
       and delivery_epoch >=
         (select delivery_epoch from instance where project_id = $1 and id = $2)
     order by next_at limit $3`,
    [projectId, instanceId, limit],
  );
  return rows.map((row) => ({
    attempts: Number(row.attempts),
    nextAt: Number(row.next_at),
    last:
      row.last_at === null
        ? null
        : {
            at: Number(row.last_at),
            outcome: row.last_outcome as string,
            status: row.last_status === null ? null : Number(row.last_status),
          },
  }));
}
