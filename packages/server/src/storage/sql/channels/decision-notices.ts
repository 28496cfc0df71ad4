/**
 * Rows of the table `decision_notice`: messages about decisions. One is due when its request is
 * resolved, so a decision writes nothing for it.
 */

import type { ChannelPost } from "../../../core/channel.ts";
import type { Reader, Transaction } from "../../store.ts";
import type { RowKey } from "../keys.ts";

export interface DecisionNotice {
  /** Of the message. */
  readonly id: string;
  readonly requestId: string;
  /** The message about the pending request, if the channel can reply to it. */
  readonly post: ChannelPost | undefined;
}

/** @param ids of the messages, one for each channel */
export async function insertNotices(
  tx: Transaction,
  projectId: string,
  requestId: string,
  notices: readonly { readonly channelId: string; readonly id: string }[],
): Promise<void> {
  for (const { channelId, id } of notices) {
    await tx.run(
      `insert into decision_notice (project_id, channel_id, request_id, id)
       values ($1, $2, $3, $4)
       on conflict (project_id, channel_id, request_id) do nothing`,
      [projectId, channelId, requestId, id],
    );
  }
}

/** The due notice of a channel that was created first. */
export async function readDueNotice(
  reader: Reader,
  { projectId, id }: RowKey,
): Promise<DecisionNotice | undefined> {
  const row = await reader.get(
    `select decision_notice.id, decision_notice.request_id, channel_post.post_id,
       channel_post.posted_in
     from decision_notice join request on request.project_id = decision_notice.project_id
         and request.id = decision_notice.request_id
       left join channel_post on channel_post.project_id = decision_notice.project_id
         and channel_post.channel_id = decision_notice.channel_id
         and channel_post.request_id = decision_notice.request_id
     where decision_notice.project_id = $1 and decision_notice.channel_id = $2
       and decision_notice.ended_at is null and request.status <> 'pending'
     order by decision_notice.id, channel_post.posted_at limit 1`,
    [projectId, id],
  );
  if (row === undefined) return undefined;
  const { post_id: post, posted_in: place } = row;
  return {
    id: String(row.id),
    requestId: String(row.request_id),
    post: post === null ? undefined : { id: String(post), place: String(place) },
  };
}

export async function endNotice(
  tx: Transaction,
  channel: RowKey,
  requestId: string,
  at: number,
): Promise<void> {
  await tx.run(
    `update decision_notice set ended_at = $4
     where project_id = $1 and channel_id = $2 and request_id = $3`,
    [channel.projectId, channel.id, requestId, at],
  );
}

/** Ends the open notices of a channel. */
export async function endNoticesOf(
  tx: Transaction,
  { projectId, id }: RowKey,
  at: number,
): Promise<void> {
  await tx.run(
    `update decision_notice set ended_at = $3
     where project_id = $1 and channel_id = $2 and ended_at is null`,
    [projectId, id, at],
  );
}
