/**
 * Rows of the table `channel`: notification channels and their state.
 */

import type {
  ChannelKind,
  ChannelRef,
  ChannelSettings,
  LastSending,
  StoredChannel,
} from "../../../core/channel.ts";
import type { Reader, Row, Transaction } from "../../store.ts";
import { touchActiveState } from "../active-state-stamp.ts";
import type { RowKey } from "../keys.ts";
import { parseNames, writeNames } from "../names.ts";
import { IS_OUTDATED } from "./channel-posts.ts";

const COLUMNS = `id, project_id, name, kind, group_names, includes_arguments, decides, on_decision,
  instance_ids, digest_ms, remind_ms, target_shown, encrypted_target, created_at, created_by,
  disabled_at, claimed_until, fence, failures, retry_at, last_at, last_outcome, last_status,
  minute_at, minute_messages, sent_at`;

const SELECT = `select ${COLUMNS} from channel where project_id = $1 and id = $2`;

/** @returns false when the project has one of this name */
export async function insertChannel(tx: Transaction, channel: ChannelSettings): Promise<boolean> {
  const inserted = await tx.run(
    `insert into channel (project_id, id, name, kind, group_names, includes_arguments, decides,
       on_decision, instance_ids, digest_ms, remind_ms, target_shown, encrypted_target, created_at,
       created_by, fence, failures, minute_messages)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 0, 0, 0)
     on conflict (project_id, name) do nothing`,
    [
      channel.projectId,
      channel.id,
      channel.name,
      channel.kind,
      writeNames(channel.groups),
      channel.includesArguments ? 1 : 0,
      channel.decides ? 1 : 0,
      channel.sendsDecisions ? 1 : 0,
      writeNames(channel.instanceIds),
      channel.digestMs,
      channel.remindMs,
      channel.targetShown,
      channel.encryptedTarget,
      channel.createdAt,
      channel.createdBy,
    ],
  );
  await touchActiveState(tx, channel.projectId);
  return inserted === 1;
}

/**
 * Writes the settings of a channel that the caller has locked. Also ends its backoff.
 */
export async function updateChannel(tx: Transaction, channel: ChannelSettings): Promise<void> {
  await tx.run(
    `update channel set group_names = $3, includes_arguments = $4, decides = $5,
       on_decision = $6, instance_ids = $7, digest_ms = $8, remind_ms = $9, target_shown = $10,
       encrypted_target = $11, disabled_at = $12, retry_at = null
     where project_id = $1 and id = $2`,
    [
      channel.projectId,
      channel.id,
      writeNames(channel.groups),
      channel.includesArguments ? 1 : 0,
      channel.decides ? 1 : 0,
      channel.sendsDecisions ? 1 : 0,
      writeNames(channel.instanceIds),
      channel.digestMs,
      channel.remindMs,
      channel.targetShown,
      channel.encryptedTarget,
      channel.disabledAt,
    ],
  );
  await touchActiveState(tx, channel.projectId);
}

export async function deleteChannel(tx: Transaction, { projectId, id }: RowKey): Promise<void> {
  await tx.run("delete from channel where project_id = $1 and id = $2", [projectId, id]);
  await touchActiveState(tx, projectId);
}

/** Another project's channel is as absent as none. */
export async function readChannel(
  reader: Reader,
  { projectId, id }: RowKey,
): Promise<StoredChannel | undefined> {
  return toChannel(await reader.get(SELECT, [projectId, id]));
}

export async function lockChannel(
  tx: Transaction,
  { projectId, id }: RowKey,
): Promise<StoredChannel | undefined> {
  return toChannel(await tx.lock("update", SELECT, [projectId, id]));
}

/** All of a project, in the order of their names. */
export async function listChannelsOf(reader: Reader, projectId: string): Promise<StoredChannel[]> {
  const sql = `select ${COLUMNS} from channel where project_id = $1 order by name`;
  return (await reader.all(sql, [projectId])).map(fromRow);
}

/** Enabled channels of all projects where people can decide. */
export async function readDecidingChannels(reader: Reader): Promise<StoredChannel[]> {
  const sql = `select ${COLUMNS} from channel where decides = 1 and disabled_at is null`;
  return (await reader.all(sql, [])).map(fromRow);
}

export async function readUsedChannels(reader: Reader, projectId: string): Promise<ChannelRef[]> {
  const rows = await reader.all(
    `select id, group_names, remind_ms, on_decision, instance_ids from channel
     where project_id = $1 and disabled_at is null order by id`,
    [projectId],
  );
  return rows.map(toRef);
}

/**
 * Channels of all projects with a due announcement or an outdated message, without a lease and
 * without a pause.
 */
export async function readDueChannels(
  reader: Reader,
  now: number,
  limit: number,
): Promise<RowKey[]> {
  const rows = await reader.all(
    `select project_id, id from channel
     where disabled_at is null and (claimed_until is null or claimed_until <= $1)
       and (retry_at is null or retry_at <= $1)
       and (exists (select 1 from announcement where announcement.project_id = channel.project_id
           and announcement.channel_id = channel.id and announcement.next_at <= $1)
         or exists (select 1 from channel_post
           join request on request.project_id = channel_post.project_id
             and request.id = channel_post.request_id
           where channel_post.project_id = channel.project_id
             and channel_post.channel_id = channel.id
             and channel_post.closed_at is null and ${IS_OUTDATED})
         or exists (select 1 from decision_notice
           join request on request.project_id = decision_notice.project_id
             and request.id = decision_notice.request_id
           where decision_notice.project_id = channel.project_id
             and decision_notice.channel_id = channel.id
             and decision_notice.ended_at is null and request.status <> 'pending'))
     limit $2`,
    [now, limit],
  );
  return rows.map((row) => ({ projectId: row.project_id as string, id: row.id as string }));
}

/** The caller has locked the channel and found it free. */
export async function claimChannelRow(
  tx: Transaction,
  { projectId, id }: RowKey,
  claimedUntil: number,
): Promise<void> {
  await tx.run(
    "update channel set claimed_until = $3, fence = fence + 1 where project_id = $1 and id = $2",
    [projectId, id, claimedUntil],
  );
}

/** Whether this claim is the last one, lasts until then, and the channel is in use. */
export async function isChannelClaimed(
  reader: Reader,
  { projectId, id }: RowKey,
  fence: number,
  until: number,
): Promise<boolean> {
  const row = await reader.get(
    `select id from channel where project_id = $1 and id = $2 and fence = $3
       and claimed_until >= $4 and disabled_at is null`,
    [projectId, id, fence, until],
  );
  return row !== undefined;
}

/** Fields that a delivery to the channel changes. */
export type AfterSending = Pick<StoredChannel, "failures" | "retryAt" | "last" | "pace">;

/**
 * Ends a claim.
 *
 * @returns false when another replica has claimed it, or the channel is gone: nothing is written
 */
export async function updateSending(
  tx: Transaction,
  { projectId, id }: RowKey,
  fence: number,
  { failures, retryAt, last, pace }: AfterSending,
): Promise<boolean> {
  const updated = await tx.run(
    `update channel set claimed_until = null, failures = $4, retry_at = $5, last_at = $6,
       last_outcome = $7, last_status = $8, minute_at = $9, minute_messages = $10, sent_at = $11
     where project_id = $1 and id = $2 and fence = $3 and claimed_until is not null`,
    [
      projectId,
      id,
      fence,
      failures,
      retryAt,
      last?.at ?? null,
      last?.outcome ?? null,
      last?.status ?? null,
      pace.minuteAt,
      pace.messages,
      pace.sentAt,
    ],
  );
  return updated === 1;
}

/** Records the outcome of a test message, also while another replica holds the lease. */
export async function updateLastSending(
  tx: Transaction,
  { projectId, id }: RowKey,
  { at, outcome, status }: LastSending,
): Promise<void> {
  await tx.run(
    `update channel set last_at = $3, last_outcome = $4, last_status = $5
     where project_id = $1 and id = $2`,
    [projectId, id, at, outcome, status],
  );
}

/** Ends the leases of a project, for when every holder of one is dead. */
export async function releaseChannels(
  tx: Transaction,
  projectId: string,
  now: number,
): Promise<void> {
  await tx.run(
    "update channel set claimed_until = null where project_id = $1 and claimed_until > $2",
    [projectId, now],
  );
}

function toChannel(row: Row | undefined): StoredChannel | undefined {
  return row === undefined ? undefined : fromRow(row);
}

function fromRow(row: Row): StoredChannel {
  return {
    ...toRef(row),
    projectId: row.project_id as string,
    name: row.name as string,
    kind: row.kind as ChannelKind,
    includesArguments: Number(row.includes_arguments) === 1,
    decides: Number(row.decides) === 1,
    digestMs: toNumber(row.digest_ms),
    targetShown: row.target_shown as string,
    encryptedTarget: row.encrypted_target as string,
    createdAt: Number(row.created_at),
    createdBy: row.created_by as string,
    disabledAt: toNumber(row.disabled_at),
    claimedUntil: toNumber(row.claimed_until),
    fence: Number(row.fence),
    failures: Number(row.failures),
    retryAt: toNumber(row.retry_at),
    last: toLast(row),
    pace: {
      minuteAt: toNumber(row.minute_at),
      messages: Number(row.minute_messages),
      sentAt: toNumber(row.sent_at),
    },
  };
}

function toRef(row: Row): ChannelRef {
  return {
    id: row.id as string,
    groups: parseNames(row.group_names),
    remindMs: toNumber(row.remind_ms),
    sendsDecisions: Number(row.on_decision) === 1,
    instanceIds: parseNames(row.instance_ids),
  };
}

function toLast(row: Row): LastSending | null {
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
