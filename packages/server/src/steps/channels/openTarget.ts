/** Decrypts the target of a channel. */

import type { Context } from "../../context.ts";
import type { ChannelTarget, StoredChannel } from "../../core/channel.ts";

/** The encryption context of a channel's target. */
export function targetContext(id: string): string {
  return `channel target ${id}`;
}

export function openTarget(
  { keyring }: Pick<Context, "keyring">,
  { id, encryptedTarget }: Pick<StoredChannel, "id" | "encryptedTarget">,
): ChannelTarget {
  return JSON.parse(keyring.decrypt(encryptedTarget, targetContext(id))) as ChannelTarget;
}
