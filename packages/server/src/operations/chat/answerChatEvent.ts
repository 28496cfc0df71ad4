/** Answers an authentic event of a chat: a verdict, or the link of an account. */

import { formatDuration, Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { StoredChannel } from "../../core/channel.ts";
import { type ChatEvent, type ChatReply, isChatKind, LINK_HELP } from "../../core/chat.ts";
import type { StoredRequest } from "../../core/request.ts";
import type { ChatCall } from "../../notify/chat-platform.ts";
import { readJudgement, requirementOf } from "../../policy/judgement.ts";
import {
  type ChatRefusal,
  type PreparedVerdict,
  prepareVerdict,
  type VerdictEvent,
} from "../../steps/chat/prepareVerdict.ts";
import { readVotes } from "../../storage/sql/requests/votes.ts";
import { castVerdict } from "../requests/castVerdict.ts";
import { linkChatUser } from "./linkChatUser.ts";
import type { ReceivedEvent } from "./receiveChatRequest.ts";

/** Slack, Discord and Mattermost wait for three seconds at most. */
const ANSWER_MS = 2_000;

/** Of a call that shows a reply. */
const CALL_MS = 2_500;

/** The answer to the platform. */
export interface AnsweredEvent {
  /** As JSON; undefined: an empty answer. */
  readonly body: object | undefined;
  /** Resolves after the replies were sent. */
  readonly replied: Promise<void>;
}

/**
 * Answers an event. The verdict of a linked user is the one of the reviewer in the console: the
 * same operation records it. Refused verdicts have an audit entry. Only the user of the event sees
 * the reply.
 */
export async function answerChatEvent(
  context: Context,
  { channel, target, platform, event }: ReceivedEvent,
): Promise<AnsweredEvent> {
  const addresses = context.notifier.addressesOf(channel, target);
  const render = (reply: ChatReply) => platform.answer(target, event, reply, addresses);
  const rendered = replyTo(context, channel, event).then(render);
  const limit = Promise.withResolvers<undefined>();
  const cancel = context.clock.after(ANSWER_MS, () => limit.resolve(undefined));
  const inTime = await Promise.race([rendered, limit.promise]).finally(cancel);
  // A late reply of a form is lost, but the message shows the decision.
  const replied = rendered.then(({ calls }) => sendCalls(context, calls));
  return { body: inTime?.body, replied };
}

/** A lost reply only explains: the user sees the state of the request in the message. */
async function sendCalls({ notifier }: Context, calls: readonly ChatCall[]): Promise<void> {
  for (const call of calls) await notifier.callChat(call, CALL_MS);
}

async function replyTo(
  context: Context,
  channel: StoredChannel,
  event: ChatEvent,
): Promise<ChatReply> {
  if (event.kind === "ping" || event.kind === "ignored") return { kind: "none" };
  const { teamId, userId } = event.user;
  const { projectId, kind } = channel;
  const waitS = context.chatEvents.take([projectId, kind, teamId, userId].join(" "));
  if (waitS > 0) return { kind: "refused", text: `Too many actions. Retry in ${waitS} seconds.` };
  if (event.kind === "link_wanted") return { kind: "code_form", text: LINK_HELP };
  if (event.kind === "code_sent") return linkChatUser(context, channel, event);
  const prepared = await prepareVerdict(context, channel, event);
  if (prepared.kind === "verdict") return cast(context, channel, event, prepared);
  if (prepared.refusal !== undefined) {
    await recordRefusal(context, channel, event, prepared.refusal);
  }
  return prepared.reply;
}

async function cast(
  context: Context,
  channel: StoredChannel,
  event: VerdictEvent,
  { caller, requestId, argumentsSha256 }: Extract<PreparedVerdict, { readonly kind: "verdict" }>,
): Promise<ChatReply> {
  try {
    const request = await castVerdict(context, caller, requestId, {
      verdict: event.verdict,
      argumentsSha256,
      note: event.kind === "note_sent" ? event.note : undefined,
      validityMs: undefined,
      confirmation: undefined,
    });
    return { kind: "done", text: await resultOf(context, request) };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.code === "forbidden" || error.code === "invalid_credential") {
      await recordRefusal(context, channel, event, "not_permitted");
    }
    return { kind: "refused", text: error.message };
  }
}

async function resultOf({ store }: Context, request: StoredRequest): Promise<string> {
  const { id, projectId, status, decision, createdAt } = request;
  if (decision === null) {
    const { quorum } = requirementOf(readJudgement(request.policy));
    const votes = await readVotes(store, projectId, [id]);
    return `Your approval is recorded: ${votes.length} of ${quorum}.`;
  }
  const tookS = Math.ceil(Math.max(0, decision.decidedAt - createdAt) / 1000);
  return `The request is ${status}, after ${formatDuration(tookS * 1000)}.`;
}

async function recordRefusal(
  { store, random }: Pick<Context, "store" | "random">,
  { projectId, id, kind }: StoredChannel,
  { user, verdict, post }: VerdictEvent,
  reason: ChatRefusal,
): Promise<void> {
  if (!isChatKind(kind)) throw new Error(`${kind} is not a chat`);
  await store.transact(async (tx) =>
    appendAudit(tx, random, {
      at: await tx.now(),
      projectId,
      kind: "chat.refused",
      actor: "system:chat",
      subject: `channel:${id}`,
      detail: {
        reason,
        verdict,
        user: `${kind}:${user.teamId}:${user.userId}`,
        message: `${post.place}:${post.id}`,
      },
    }),
  );
}
