import type { StoredChannel } from "../../core/channel.ts";
import { deciderId } from "../../core/request.ts";
import type { ResolvedMessage } from "../../notify/channel-message.ts";
import { readReviewer } from "../../storage/sql/access/holders.ts";
import type { OutdatedPost } from "../../storage/sql/channels/channel-posts.ts";
import { readRequest } from "../../storage/sql/requests/requests.ts";
import type { Reader } from "../../storage/store.ts";
import { composeCall } from "./composeCall.ts";

/** The content of a message after its request was resolved. */
export async function composeResolved(
  reader: Reader,
  channel: StoredChannel,
  { requestId, ...post }: OutdatedPost,
  now: number,
): Promise<ResolvedMessage> {
  const { projectId } = channel;
  const request = await readRequest(reader, { projectId, id: requestId });
  if (request === undefined || request.decision === null) {
    throw new Error("an outdated message has no resolved request");
  }
  const { status, decidedAt, decidedBy, note } = request.decision;
  const reviewerId = deciderId(request);
  const reviewer =
    reviewerId === undefined
      ? undefined
      : await readReviewer(reader, { projectId, id: reviewerId });
  const subject = {
    requestId,
    messageId: post.id,
    isReminder: false,
    isEscalation: false,
  };
  return {
    kind: "resolved",
    id: `${post.place}:${post.id}`,
    now,
    post,
    call: await composeCall(reader, channel, subject, now),
    outcome: {
      status,
      decidedAt,
      actor: decidedBy,
      decider: reviewer?.name,
      note: note === null ? undefined : (JSON.parse(note) as string),
    },
  };
}
