/** Receives events of chats, over HTTP or a connection, and sends the replies. */

import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { StoredChannel } from "../../core/channel.ts";
import { type ChatEvent, type ChatReply, type ChatTarget, isChatKind } from "../../core/chat.ts";
import type { ChatCall, ChatPlatform, ChatReceived } from "../../notify/chat-platform.ts";
import { openTarget } from "../../steps/channels/openTarget.ts";
import { readChannel } from "../../storage/sql/channels/channels.ts";
import type { RowKey } from "../../storage/sql/keys.ts";
import { answerChatEvent } from "./answerChatEvent.ts";

/** Slack, Discord and Mattermost wait for three seconds at most. */
const ANSWER_MS = 2_000;

/** Of a call that shows a reply. */
const CALL_MS = 2_500;

/** The answer to the platform. */
export interface ReceivedChat {
  /** As JSON; undefined: an empty answer. */
  readonly body: object | undefined;
  /** Resolves after the replies were sent. */
  readonly replied: Promise<void>;
}

interface Receiver {
  readonly channel: StoredChannel;
  readonly target: ChatTarget;
  readonly platform: ChatPlatform<ChatTarget>;
}

/**
 * Answers an HTTP request of a chat platform.
 *
 * @throws Problem `not_found` unless people can decide in the channel, `invalid_credential` unless
 * the platform sent the request, `invalid_request` for a body that is not an event
 */
export async function receiveChatRequest(
  context: Context,
  key: RowKey,
  received: ChatReceived,
): Promise<ReceivedChat> {
  const receiver = await findReceiver(context, key);
  const event = receiver.platform.receive(receiver.target, received);
  if (event === "forged") throw new Problem("invalid_credential");
  return answer(context, receiver, event);
}

/**
 * Answers an event that arrived over an authenticated connection.
 *
 * @throws Problem as {@link receiveChatRequest}
 */
export async function receiveChatPayload(
  context: Context,
  key: RowKey,
  payload: unknown,
): Promise<ReceivedChat> {
  const receiver = await findReceiver(context, key);
  return answer(context, receiver, receiver.platform.readPayload(payload));
}

async function findReceiver(context: Context, key: RowKey): Promise<Receiver> {
  const channel = await readChannel(context.store, key);
  if (channel === undefined || !channel.decides || channel.disabledAt !== null) {
    throw new Problem("not_found");
  }
  const { kind } = channel;
  const platform = isChatKind(kind) ? context.notifier.platformOf(kind) : undefined;
  if (platform === undefined) throw new Problem("not_found");
  return { channel, platform, target: openTarget(context, channel) as ChatTarget };
}

async function answer(
  context: Context,
  { channel, target, platform }: Receiver,
  event: ChatEvent | "invalid",
): Promise<ReceivedChat> {
  if (event === "invalid") {
    throw new Problem("invalid_request", "The body is not an event of the chat platform.");
  }
  const addresses = context.notifier.addressesOf(channel, target);
  const render = (reply: ChatReply) => platform.answer(target, event, reply, addresses);
  const rendered = answerChatEvent(context, channel, event).then(render);
  const inTime = await Promise.race([rendered, after(context, ANSWER_MS)]);
  // A late reply of a form is lost, but the message shows the decision.
  const replied = rendered.then(({ calls }) => sendCalls(context, calls));
  return { body: inTime?.body, replied };
}

function after({ clock }: Pick<Context, "clock">, ms: number): Promise<undefined> {
  return new Promise((resolve) => {
    clock.after(ms, () => resolve(undefined));
  });
}

/** A lost reply only explains: the user sees the state of the request in the message. */
async function sendCalls({ notifier }: Context, calls: readonly ChatCall[]): Promise<void> {
  for (const call of calls) await notifier.callChat(call, CALL_MS);
}
