/** Decrypts the target of a push subscription. */

import type { Context } from "../../context.ts";
import type { PushTarget, StoredSubscription } from "../../core/push.ts";

export function openPushTarget(
  { keyring }: Pick<Context, "keyring">,
  { id, encryptedTarget }: Pick<StoredSubscription, "id" | "encryptedTarget">,
): PushTarget {
  return JSON.parse(keyring.decrypt(encryptedTarget, pushTargetContext(id))) as PushTarget;
}

/** The encryption context of a subscription's target. */
export function pushTargetContext(id: string): string {
  return `push target ${id}`;
}
