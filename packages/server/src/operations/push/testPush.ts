import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { type SendOutcome, sendingStatus, sendingText } from "../../core/channel.ts";
import { isSubscriptionGone, type PushPayload } from "../../core/push.ts";
import type { SignedIn } from "../../identity/caller.ts";
import { openPushKey } from "../../steps/push/findPublicPushKey.ts";
import { openPushTarget } from "../../steps/push/openPushTarget.ts";
import { removeGoneSubscription } from "../../steps/push/removeSubscription.ts";
import {
  listSubscriptionsOf,
  lockSubscription,
  updateLastPush,
} from "../../storage/sql/push/push-subscriptions.ts";

const TEST_MS = 8_000;

const TEST: PushPayload = { type: "push.test", tag: "push-test", path: "/inbox", silent: false };

/**
 * Sends a test message, also in quiet hours.
 *
 * @param onSend called before the message is sent; an error prevents that
 * @returns the outcome, with only the status of the push service's answer
 * @throws Problem `not_found`, also for another user's subscription
 */
export async function testPush(
  context: Context,
  { person }: SignedIn,
  id: string,
  onSend: () => void,
): Promise<SendOutcome> {
  const { store, notifier, random } = context;
  const own = await listSubscriptionsOf(store, person.id);
  const subscription = own.find((each) => each.id === id);
  if (subscription === undefined) throw new Problem("not_found");
  onSend();
  const request = {
    target: openPushTarget(context, subscription),
    key: await openPushKey(store, context),
    payload: TEST,
    keepS: 60,
    salt: random.bytes(16),
    timeoutMs: TEST_MS,
  };
  const outcome = await notifier.push(request);
  const status = sendingStatus(outcome);
  await store.transact(async (tx) => {
    const known = await lockSubscription(tx, id);
    if (known === undefined) return;
    if (isSubscriptionGone(status)) await removeGoneSubscription(tx, random, known);
    else
      await updateLastPush(tx, id, { at: await tx.now(), outcome: sendingText(outcome), status });
  });
  return outcome;
}
