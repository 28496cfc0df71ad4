/** Composes the new content of messages, and messages about decisions. */

import type { StoredChannel } from "../../core/channel.ts";
import { deciderId, type StoredDecision, type StoredRequest } from "../../core/request.ts";
import type {
  CallOutcome,
  DecisionMessage,
  RefreshedMessage,
  ResolvedMessage,
} from "../../notify/channel-message.ts";
import { readReviewer } from "../../storage/sql/access/holders.ts";
import type { StoredPost } from "../../storage/sql/channels/channel-posts.ts";
import type { DecisionNotice } from "../../storage/sql/channels/decision-notices.ts";
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
  const outcome = await outcomeOf(reader, request, request.decision);
  return { kind: "resolved", ...common, call, outcome };
}

/** The message about a decision. */
export async function composeDecision(
  reader: Reader,
  channel: StoredChannel,
  { id, requestId, post }: DecisionNotice,
  now: number,
): Promise<DecisionMessage> {
  const request = await readRequest(reader, { projectId: channel.projectId, id: requestId });
  if (request === undefined || request.decision === null) {
    throw new Error("a due notice has no resolved request");
  }
  const subject = {
    requestId,
    messageId: id,
    isReminder: false,
    isEscalation: false,
    nonce: undefined,
  };
  return {
    kind: "decision",
    id,
    now,
    call: await composeCall(reader, channel, subject, now),
    outcome: await outcomeOf(reader, request, request.decision),
    thread: post,
  };
}

async function outcomeOf(
  reader: Reader,
  request: StoredRequest,
  { status, decidedAt, decidedBy, note }: StoredDecision,
): Promise<CallOutcome> {
  const id = deciderId(request);
  const { projectId } = request;
  const reviewer = id === undefined ? undefined : await readReviewer(reader, { projectId, id });
  return {
    status,
    decidedAt,
    actor: decidedBy,
    decider: reviewer?.name,
    note: note === null ? undefined : (JSON.parse(note) as string),
  };
}
