/**
 * Rows of the table `channel_post`: messages in a chat that the server updates when their request
 * is resolved.
 */

import type { ChannelPost } from "../../../core/channel.ts";
import type { Reader, Transaction } from "../../store.ts";
import type { RowKey } from "../keys.ts";

export async function insertPost(
  tx: Transaction,
  channel: RowKey,
  { id, place }: ChannelPost,
  requestId: string,
  postedAt: number,
): Promise<void> {
  await tx.run(
    `insert into channel_post (project_id, channel_id, post_id, posted_in, request_id, posted_at)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (project_id, channel_id, posted_in, post_id) do nothing`,
    [channel.projectId, channel.id, id, place, requestId, postedAt],
  );
}

/** A message that still shows a pending request after its request was resolved. */
export interface OutdatedPost extends ChannelPost {
  readonly requestId: string;
}

/** @returns the outdated message of a channel that was posted first */
export async function readOutdatedPost(
  reader: Reader,
  { projectId, id }: RowKey,
): Promise<OutdatedPost | undefined> {
  const row = await reader.get(
    `select channel_post.post_id, channel_post.posted_in, channel_post.request_id
     from channel_post join request on request.project_id = channel_post.project_id
       and request.id = channel_post.request_id
     where channel_post.project_id = $1 and channel_post.channel_id = $2
       and channel_post.closed_at is null and request.status <> 'pending'
     order by channel_post.posted_at limit 1`,
    [projectId, id],
  );
  if (row === undefined) return undefined;
  return {
    id: String(row.post_id),
    place: String(row.posted_in),
    requestId: String(row.request_id),
  };
}

/** Why the server does not update a message again. */
export type PostEnd = "updated" | "gone";

export async function closePost(
  tx: Transaction,
  channel: RowKey,
  { id, place }: ChannelPost,
  by: PostEnd,
  at: number,
): Promise<void> {
  await tx.run(
    `update channel_post set closed_at = $5, closed_by = $6
     where project_id = $1 and channel_id = $2 and posted_in = $3 and post_id = $4`,
    [channel.projectId, channel.id, place, id, at, by],
  );
}
