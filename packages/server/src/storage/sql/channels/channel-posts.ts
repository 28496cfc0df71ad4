/**
 * Rows of the table `channel_post`: messages in a chat that the server updates when their request
 * changes.
 */

import type { ChannelPost } from "../../../core/channel.ts";
import type { Reader, Row, Transaction } from "../../store.ts";
import type { RowKey } from "../keys.ts";

/** The content of a message. */
export interface PostContent {
  readonly requestId: string;
  /** Number of votes. */
  readonly votes: number;
  /** Of its buttons; undefined: it has none. */
  readonly buttons: PostButtons | undefined;
}

export interface PostButtons {
  readonly nonce: string;
  readonly argumentsSha256: string;
}

/** A message that the server updates. */
export interface StoredPost extends ChannelPost, PostContent {
  readonly channelId: string;
  /** False: the message is final. */
  readonly isOpen: boolean;
}

export async function insertPost(
  tx: Transaction,
  channel: RowKey,
  { id, place }: ChannelPost,
  { requestId, votes, buttons }: PostContent,
  postedAt: number,
): Promise<void> {
  await tx.run(
    `insert into channel_post (project_id, channel_id, post_id, posted_in, request_id, posted_at,
       nonce, arguments_sha256, votes)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     on conflict (project_id, channel_id, posted_in, post_id) do nothing`,
    [
      channel.projectId,
      channel.id,
      id,
      place,
      requestId,
      postedAt,
      buttons?.nonce ?? null,
      buttons?.argumentsSha256 ?? null,
      votes,
    ],
  );
}

/** True when a message displays an outdated status or number of votes. Joins `request`. */
export const IS_OUTDATED = `(request.status <> 'pending' or channel_post.votes <>
  (select count(*) from vote where vote.project_id = channel_post.project_id
    and vote.request_id = channel_post.request_id))`;

const COLUMNS = `channel_post.channel_id, channel_post.post_id, channel_post.posted_in,
  channel_post.request_id, channel_post.votes, channel_post.nonce, channel_post.arguments_sha256,
  channel_post.closed_at`;

/** @returns the outdated message of a channel that was posted first */
export async function readOutdatedPost(
  reader: Reader,
  { projectId, id }: RowKey,
): Promise<StoredPost | undefined> {
  const row = await reader.get(
    `select ${COLUMNS}
     from channel_post join request on request.project_id = channel_post.project_id
       and request.id = channel_post.request_id
     where channel_post.project_id = $1 and channel_post.channel_id = $2
       and channel_post.closed_at is null and ${IS_OUTDATED}
     order by channel_post.posted_at limit 1`,
    [projectId, id],
  );
  return row === undefined ? undefined : fromRow(row);
}

/** @returns the message with this id in this conversation, of each channel that posted it */
export async function findPosts(
  reader: Reader,
  projectId: string,
  { id, place }: ChannelPost,
): Promise<StoredPost[]> {
  const sql = `select ${COLUMNS} from channel_post
     where project_id = $1 and posted_in = $2 and post_id = $3`;
  return (await reader.all(sql, [projectId, place, id])).map(fromRow);
}

/** Records that a message displays another number of votes. */
export async function refreshPost(
  tx: Transaction,
  channel: RowKey,
  { id, place }: ChannelPost,
  votes: number,
): Promise<void> {
  await tx.run(
    `update channel_post set votes = $5
     where project_id = $1 and channel_id = $2 and posted_in = $3 and post_id = $4`,
    [channel.projectId, channel.id, place, id, votes],
  );
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

function fromRow(row: Row): StoredPost {
  const { nonce, arguments_sha256: argumentsSha256 } = row;
  return {
    id: String(row.post_id),
    place: String(row.posted_in),
    channelId: String(row.channel_id),
    requestId: String(row.request_id),
    votes: Number(row.votes),
    isOpen: row.closed_at === null,
    buttons:
      nonce === null
        ? undefined
        : { nonce: String(nonce), argumentsSha256: String(argumentsSha256) },
  };
}
