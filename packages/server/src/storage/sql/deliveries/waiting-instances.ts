/**
 * Instances that have rows of the table `notification` to attempt: who waits for delivery.
 */

import type { Reader, Row } from "../../store.ts";
import type { InstanceKey } from "../keys.ts";

/** An instance that has notifications to attempt now. */
export interface WaitingInstance extends InstanceKey {
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
  readonly next: InstanceKey | undefined;
}

/** Behind every time at which something may be due. */
const LATEST = Number.MAX_SAFE_INTEGER;

/**
 * The first instance behind that of the step before. With a time, so that SQLite seeks behind all
 * rows of that instance. The empty text turns the text column into an expression, because SQLite
 * uses the index to compare several columns only then.
 */
const NEXT = `from notification where notification.next_at is not null
    and (notification.project_id, notification.instance_id, notification.next_at)
      > (waiting.project_id, waiting.instance_id || '', ${LATEST})
  order by notification.project_id, notification.instance_id, notification.next_at limit 1`;

/**
 * Steps from instance to instance on the index rather than over every notification: one instance
 * with a long queue costs no more than another (only what is being attempted is passed over), and
 * a page no more than `limit` steps.
 *
 * @param after instances up to it are left out
 * @param limit bounds the instances that are read, due or not
 */
export async function readWaitingInstances(
  reader: Reader,
  now: number,
  after: InstanceKey,
  limit: number,
): Promise<WaitingPage> {
  const rows = await reader.all(
    `with recursive waiting (project_id, instance_id, step) as (
       select $2, $3, 0
       union all
       select (select notification.project_id ${NEXT}), (select notification.instance_id ${NEXT}),
         waiting.step + 1
       from waiting where waiting.project_id is not null and waiting.step < $4
     )
     select due.project_id, due.instance_id, instance.provisioner_id, receiver.url
     from (select waiting.project_id, waiting.instance_id,
             (select notification.next_at from notification
              where notification.project_id = waiting.project_id
                and notification.instance_id = waiting.instance_id
                and notification.next_at is not null
                and (notification.claimed_until is null or notification.claimed_until <= $1)
              order by notification.next_at limit 1) as due_at
           from waiting where waiting.step > 0 and waiting.project_id is not null) as due
     left join instance on instance.project_id = due.project_id and instance.id = due.instance_id
       and due.due_at <= $1
     left join receiver on receiver.project_id = instance.project_id
       and receiver.instance_id = instance.id
     order by due.project_id, due.instance_id`,
    [now, after.projectId, after.instanceId, limit],
  );
  const due = rows.filter((row) => row.provisioner_id !== null);
  return {
    waiting: due.map((row) => ({ ...toKey(row), ...toAddressee(row) })),
    next: rows.length < limit ? undefined : toKey(rows.at(-1) ?? {}),
  };
}

/** The same of one instance, whether or not something is due. */
export async function readWaitingInstance(
  reader: Reader,
  { projectId, instanceId }: InstanceKey,
): Promise<WaitingInstance | undefined> {
  const row = await reader.get(
    `select instance.provisioner_id, receiver.url
     from instance left join receiver
       on receiver.project_id = instance.project_id and receiver.instance_id = instance.id
     where instance.project_id = $1 and instance.id = $2`,
    [projectId, instanceId],
  );
  return row === undefined ? undefined : { projectId, instanceId, ...toAddressee(row) };
}

function toKey(row: Row): InstanceKey {
  return { projectId: row.project_id as string, instanceId: row.instance_id as string };
}

function toAddressee(row: Row): Pick<WaitingInstance, "provisionerId" | "url"> {
  return { provisionerId: row.provisioner_id as string, url: row.url as string | null };
}
