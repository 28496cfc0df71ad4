/**
 * Rows of the table `push_message`: pending messages by browser and request, and which
 * shows one that may have ended since.
 */

import type { ReviewerRole } from "../../../core/roles.ts";
import type { Reader, Row, Transaction } from "../../store.ts";
import type { RowKey } from "../keys.ts";
import { parseNames } from "../names.ts";

/** A reviewer of a project with a push subscription. */
export interface PushAudience {
  readonly reviewerId: string;
  readonly personId: string;
  readonly name: string;
  readonly role: ReviewerRole;
  readonly groups: readonly string[];
}

/** Whether a reviewer of the project subscribed to Web Push. */
export async function hasPushAudience(reader: Reader, projectId: string): Promise<boolean> {
  const row = await reader.get(
    `select reviewer.id from push_subscription
       join reviewer on reviewer.project_id = $1
         and reviewer.person_id = push_subscription.person_id
     where reviewer.removed_at is null limit 1`,
    [projectId],
  );
  return row !== undefined;
}

export async function readPushAudience(
  reader: Reader,
  projectId: string,
): Promise<(PushAudience & { readonly subscriptionId: string })[]> {
  const rows = await reader.all(
    `select reviewer.id, reviewer.person_id, reviewer.name, reviewer.role, reviewer.group_names,
       push_subscription.id as subscription_id
     from push_subscription
       join reviewer on reviewer.project_id = $1
         and reviewer.person_id = push_subscription.person_id
       join person on person.id = push_subscription.person_id
     where reviewer.removed_at is null and person.disabled_at is null`,
    [projectId],
  );
  return rows.map((row) => ({
    ...toAudience(row),
    subscriptionId: row.subscription_id as string,
  }));
}

/** The current role and groups of a user in a project; undefined when removed or disabled. */
export async function readPushReviewer(
  reader: Reader,
  projectId: string,
  personId: string,
): Promise<PushAudience | undefined> {
  const row = await reader.get(
    `select reviewer.id, reviewer.person_id, reviewer.name, reviewer.role, reviewer.group_names
     from reviewer join person on person.id = reviewer.person_id
     where reviewer.project_id = $1 and reviewer.person_id = $2
       and reviewer.removed_at is null and person.disabled_at is null`,
    [projectId, personId],
  );
  return row === undefined ? undefined : toAudience(row);
}

/** The reviewers with a message about a request in a browser that receives messages. */
export async function readNotified(
  reader: Reader,
  { projectId, id }: RowKey,
): Promise<PushAudience[]> {
  const rows = await reader.all(
    `select distinct reviewer.id, reviewer.person_id, reviewer.name, reviewer.role,
       reviewer.group_names
     from push_message
       join push_subscription on push_subscription.id = push_message.subscription_id
         and push_subscription.failures = 0
       join reviewer on reviewer.project_id = push_message.project_id
         and reviewer.person_id = push_subscription.person_id
       join person on person.id = reviewer.person_id
     where push_message.project_id = $1 and push_message.request_id = $2
       and reviewer.removed_at is null and person.disabled_at is null`,
    [projectId, id],
  );
  return rows.map(toAudience);
}

/** Makes the unsent messages of a person due, such as those that an absence delays. */
export async function wakeUnsentPushes(
  tx: Transaction,
  personId: string,
  now: number,
): Promise<void> {
  await tx.run(
    `update push_message set next_at = $2
     where is_shown = 0 and next_at > $2 and subscription_id in (
       select id from push_subscription where person_id = $1)`,
    [personId, now],
  );
}

/** Projects whose calls may be announced to this person. */
export async function readProjectsOfPerson(reader: Reader, personId: string): Promise<string[]> {
  const rows = await reader.all(
    "select project_id from reviewer where person_id = $1 and removed_at is null",
    [personId],
  );
  return rows.map((row) => String(row.project_id));
}

/** Projects with subscriptions to Web Push. */
export async function readPushedProjects(reader: Reader): Promise<string[]> {
  const rows = await reader.all(
    `select distinct project_id from reviewer
     where person_id in (select person_id from push_subscription) and removed_at is null`,
  );
  return rows.map((row) => String(row.project_id));
}

export async function insertPushMessage(
  tx: Transaction,
  { projectId, id: requestId }: RowKey,
  subscriptionId: string,
  nextAt: number,
): Promise<void> {
  await tx.run(
    `insert into push_message (project_id, request_id, subscription_id, is_shown, next_at)
     values ($1, $2, $3, 0, $4)
     on conflict (project_id, request_id, subscription_id) do nothing`,
    [projectId, requestId, subscriptionId, nextAt],
  );
}

/** As {@link insertPushMessage}, also for a browser that has received a message about it. */
export async function renewPushMessage(
  tx: Transaction,
  { projectId, id: requestId }: RowKey,
  subscriptionId: string,
  nextAt: number,
): Promise<void> {
  await tx.run(
    `insert into push_message (project_id, request_id, subscription_id, is_shown, next_at)
     values ($1, $2, $3, 0, $4)
     on conflict (project_id, request_id, subscription_id)
       do update set is_shown = 0, next_at = excluded.next_at`,
    [projectId, requestId, subscriptionId, nextAt],
  );
}

export interface DuePush {
  readonly projectId: string;
  readonly requestId: string;
  /** It was announced; the message that it ended is due. */
  readonly isShown: boolean;
}

/** Those of a browser, of all projects, the longest waiting first. */
export async function readDuePushes(
  reader: Reader,
  subscriptionId: string,
  now: number,
  limit: number,
): Promise<DuePush[]> {
  const rows = await reader.all(
    `select project_id, request_id, is_shown from push_message
     where subscription_id = $1 and next_at <= $2 order by next_at limit $3`,
    [subscriptionId, now, limit],
  );
  return rows.map((row) => ({
    projectId: row.project_id as string,
    requestId: row.request_id as string,
    isShown: Number(row.is_shown) === 1,
  }));
}

/** @param nextAt epoch ms; null while it is shown and there is nothing to say */
export async function movePush(
  tx: Transaction,
  subscriptionId: string,
  { projectId, requestId, isShown }: DuePush,
  nextAt: number | null,
): Promise<void> {
  await tx.run(
    `update push_message set is_shown = $4, next_at = $5
     where project_id = $1 and request_id = $2 and subscription_id = $3`,
    [projectId, requestId, subscriptionId, isShown ? 1 : 0, nextAt],
  );
}

export async function deletePush(
  tx: Transaction,
  subscriptionId: string,
  { projectId, requestId }: Pick<DuePush, "projectId" | "requestId">,
): Promise<void> {
  await tx.run(
    `delete from push_message
     where project_id = $1 and request_id = $2 and subscription_id = $3`,
    [projectId, requestId, subscriptionId],
  );
}

/** Schedules a message to browsers that still show this ended request. */
export async function wakeShownPush(
  tx: Transaction,
  { projectId, id }: RowKey,
  now: number,
): Promise<number> {
  return tx.run(
    `update push_message set next_at = $3
     where project_id = $1 and request_id = $2 and next_at is null and is_shown = 1`,
    [projectId, id, now],
  );
}

/** As {@link wakeShownPush}, for all ended requests of a project without a wake-up. */
export async function wakeShownPushes(
  tx: Transaction,
  projectId: string,
  now: number,
): Promise<number> {
  return tx.run(
    `update push_message set next_at = $2
     where project_id = $1 and next_at is null and exists (select 1 from request
       where request.project_id = push_message.project_id
         and request.id = push_message.request_id and request.status <> 'pending')`,
    [projectId, now],
  );
}

function toAudience(row: Row): PushAudience {
  return {
    reviewerId: row.id as string,
    personId: row.person_id as string,
    name: row.name as string,
    role: row.role as ReviewerRole,
    groups: parseNames(row.group_names),
  };
}
