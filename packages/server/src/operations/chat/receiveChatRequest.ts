/** Authenticates and reads the events of chats, over HTTP or a connection. */

import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { StoredChannel } from "../../core/channel.ts";
import { type ChatEvent, type ChatTarget, isChatKind } from "../../core/chat.ts";
import type { ChatPlatform, ChatReceived } from "../../notify/chat-platform.ts";
import { openTarget } from "../../steps/channels/openTarget.ts";
import { readChannel } from "../../storage/sql/channels/channels.ts";
import type { RowKey } from "../../storage/sql/keys.ts";

/** An authentic event, and the channel that received it. */
export interface ReceivedEvent extends Receiver {
  readonly event: ChatEvent;
}

interface Receiver {
  readonly channel: StoredChannel;
  readonly target: ChatTarget;
  readonly platform: ChatPlatform<ChatTarget>;
}

/**
 * Reads an HTTP request of a chat platform.
 *
 * @throws Problem `not_found` unless people can decide in the channel, `invalid_credential` unless
 * the platform sent the request, `invalid_request` for a body that is not an event
 */
export async function receiveChatRequest(
  context: Context,
  key: RowKey,
  received: ChatReceived,
): Promise<ReceivedEvent> {
  const receiver = await findReceiver(context, key);
  const event = receiver.platform.receive(receiver.target, received);
  if (event === "forged") throw new Problem("invalid_credential");
  return { ...receiver, event: assertEvent(event) };
}

/**
 * Reads an event that arrived over an authenticated connection.
 *
 * @throws Problem as {@link receiveChatRequest}
 */
export async function receiveChatPayload(
  context: Context,
  key: RowKey,
  payload: unknown,
): Promise<ReceivedEvent> {
  const receiver = await findReceiver(context, key);
  return {
    ...receiver,
    event: assertEvent(receiver.platform.readPayload(receiver.target, payload)),
  };
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

function assertEvent(event: ChatEvent | "invalid"): ChatEvent {
  if (event !== "invalid") return event;
  throw new Problem("invalid_request", "The body is not an event of the chat platform.");
}
