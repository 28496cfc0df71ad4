import type { StoredChannel } from "../../core/channel.ts";
import { deciderId } from "../../core/request.ts";
import type { RefreshedMessage, ResolvedMessage } from "../../notify/channel-message.ts";
import { readReviewer } from "../../storage/sql/access/holders.ts";
import type { StoredPost } from "../../storage/sql/channels/channel-posts.ts";
import { readRequest } from "../../storage/sql/requests/requests.ts";
import type { Reader } from "../../storage/store.ts";
import { composeCall } from "./composeCall.ts";

/** The new content of a message after its request was resolved, or received another vote. */
export async function composeUpdate(
  reader: Reader,
  channel: StoredChannel,
  stored: StoredPost,
  now: number,
): Promise<ResolvedMessage | RefreshedMessage> {
  const { projectId } = channel;
  const { id, place, requestId, buttons } = stored;
  const request = await readRequest(reader, { projectId, id: requestId });
  if (request === undefined) throw new Error("an outdated message has no request");
  const common = { id: `${place}:${id}`, now, post: { id, place } };
  const subject = {
    requestId,
    messageId: id,
    isReminder: false,
    isEscalation: false,
    nonce: buttons?.nonce,
  };
  const call = await composeCall(reader, channel, subject, now);
  if (request.decision === null) return { kind: "refreshed", ...common, call };
  const { status, decidedAt, decidedBy, note } = request.decision;
  const reviewerId = deciderId(request);
  const reviewer =
    reviewerId === undefined
      ? undefined
      : await readReviewer(reader, { projectId, id: reviewerId });
  return {
    kind: "resolved",
    ...common,
    call,
    outcome: {
      status,
      decidedAt,
      actor: decidedBy,
      decider: reviewer?.name,
      note: note === null ? undefined : (JSON.parse(note) as string),
    },
  };
}
