/**
 * Instances that have rows of the table `notification` to attempt: who waits for delivery.
 */

import type { Reader } from "../store.ts";

/** An instance that has notifications to attempt now. */
export interface WaitingInstance {
  readonly instanceId: string;
  /** Provisioning account. */
  readonly provisionerId: string;
  /** Null when its receiver is gone and only the end is to be recorded. */
  readonly url: string | null;
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
 * with a long queue costs no more than another (only what is being attempted is passed over), and
 * a page no more than `limit` steps.
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
     select due.instance_id, instance.provisioner_id, receiver.url
     from (select waiting.instance_id,
             (select notification.next_at from notification
              where notification.instance_id = waiting.instance_id
                and notification.next_at is not null
                and (notification.claimed_until is null or notification.claimed_until <= $1)
              order by notification.next_at limit 1) as due_at
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
    })),
    next: rows.length < limit ? undefined : (rows.at(-1)?.instance_id as string),
  };
}

/** The same of one instance, whether or not something is due. */
export async function readWaitingInstance(
  reader: Reader,
  instanceId: string,
): Promise<WaitingInstance | undefined> {
  const row = await reader.get(
    `select instance.provisioner_id, receiver.url
     from instance left join receiver on receiver.instance_id = instance.id
     where instance.id = $1`,
    [instanceId],
  );
  if (row === undefined) return undefined;
  const provisionerId = row.provisioner_id as string;
  return { instanceId, provisionerId, url: row.url as string | null };
}
