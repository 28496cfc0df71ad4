import type { Context } from "../../context.ts";
import type { StoredChannel } from "../../core/channel.ts";
import { type ButtonPressed, type ChatTarget, isChatKind, type NoteSent } from "../../core/chat.ts";
import { findPosts, type StoredPost } from "../../storage/sql/channels/channel-posts.ts";
import { readChannel } from "../../storage/sql/channels/channels.ts";
import { openTarget } from "../channels/openTarget.ts";

/** The message with a pressed button, and its channel. */
export interface FoundButton {
  readonly post: StoredPost;
  readonly channel: StoredChannel;
}

/**
 * Finds the message of an event by its place in the chat, and compares the value of the button with
 * the stored one. Channels of one app share its events.
 *
 * @param receiver the channel that received the event
 * @returns why the button has no effect: the message is unknown, or its button is another one
 */
export async function findButton(
  context: Context,
  receiver: StoredChannel,
  { post: pressed, value }: ButtonPressed | NoteSent,
): Promise<FoundButton | "unknown_message" | "changed_button"> {
  const { projectId } = receiver;
  for (const post of await findPosts(context.store, projectId, pressed)) {
    const channel = await readChannel(context.store, { projectId, id: post.channelId });
    if (channel === undefined || !isUsable(channel) || !isSameApp(context, receiver, channel)) {
      continue;
    }
    return isSameButton(post, value) ? { post, channel } : "changed_button";
  }
  return "unknown_message";
}

function isUsable({ decides, disabledAt }: StoredChannel): boolean {
  return decides && disabledAt === null;
}

function isSameApp(context: Context, one: StoredChannel, other: StoredChannel): boolean {
  if (one.id === other.id) return true;
  if (one.kind !== other.kind || !isChatKind(one.kind)) return false;
  const platform = context.notifier.platformOf(one.kind);
  if (platform === undefined) return false;
  const [secret, otherSecret] = [one, other].map((channel) =>
    platform.appSecret(openTarget(context, channel) as ChatTarget),
  );
  return secret === otherSecret;
}

/** Each part of a value must be the stored one. A short value has only the nonce. */
function isSameButton({ requestId, buttons }: StoredPost, value: ButtonPressed["value"]): boolean {
  if (buttons === undefined || value.nonce !== buttons.nonce) return false;
  const { requestId: id = requestId, argumentsSha256: digest = buttons.argumentsSha256 } = value;
  return id === requestId && digest === buttons.argumentsSha256;
}
