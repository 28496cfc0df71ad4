import type { Context } from "../../context.ts";
import type { StoredSubscription } from "../../core/push.ts";
import type { SignedIn } from "../../identity/caller.ts";
import { findPublicPushKey } from "../../steps/push/findPublicPushKey.ts";
import { listSubscriptionsOf } from "../../storage/sql/push/push-subscriptions.ts";

export interface OwnSubscriptions {
  /** The key for subscriptions; null when this server sends nothing. */
  readonly publicKey: string | null;
  /** Oldest first. */
  readonly subscriptions: readonly StoredSubscription[];
}

/** The subscribed browsers of a user. */
export async function listPushSubscriptions(
  context: Pick<Context, "store" | "keyring" | "notifier">,
  { person }: SignedIn,
): Promise<OwnSubscriptions> {
  const publicKey = context.notifier.canPush ? await findPublicPushKey(context) : null;
  return { publicKey, subscriptions: await listSubscriptionsOf(context.store, person.id) };
}
