import type { Context } from "../../context.ts";
import { retryDelayMs, type SendOutcome, sendingStatus, sendingText } from "../../core/channel.ts";
import { isSubscriptionGone } from "../../core/push.ts";
import { toFraction } from "../../core/retry.ts";
import { removeGoneSubscription } from "../../steps/push/removeSubscription.ts";
import { deletePush, movePush } from "../../storage/sql/push/push-messages.ts";
import { lockSubscription, updateAfterPush } from "../../storage/sql/push/push-subscriptions.ts";
import { readRequest } from "../../storage/sql/requests/requests.ts";
import type { Transaction } from "../../storage/store.ts";
import type { ClaimedPush } from "./claimPush.ts";

/** The result for the browser. */
export type RecordedPush =
  | { readonly kind: "sent" }
  | { readonly kind: "rests"; readonly ms: number }
  /** The push service no longer knows the browser, so it was removed. */
  | { readonly kind: "gone" }
  /** Nothing was sent because of this server, or another replica has the lease. */
  | { readonly kind: "released" };

/**
 * Records the outcome of a push message, and releases the browser. Updates a displayed notification
 * after its request was resolved.
 */
export async function recordPush(
  { store, random }: Pick<Context, "store" | "random">,
  { subscription, fence, due }: ClaimedPush,
  outcome: SendOutcome,
): Promise<RecordedPush> {
  const chance = toFraction(random.bytes(4));
  const { id, failures, retryAt, last } = subscription;
  const status = sendingStatus(outcome);
  return store.transact(async (tx): Promise<RecordedPush> => {
    const now = await tx.now();
    const rest = retryDelayMs(failures + 1, outcome, chance);
    const isSent = outcome.kind === "sent";
    const after =
      outcome.kind === "unwanted"
        ? { failures, retryAt, last }
        : {
            failures: isSent ? 0 : failures + 1,
            retryAt: isSent ? null : now + rest,
            last: { at: now, outcome: sendingText(outcome), status },
          };
    const current = await lockSubscription(tx, id);
    if (current === undefined || !(await updateAfterPush(tx, id, fence, after))) {
      return { kind: "released" };
    }
    if (outcome.kind === "unwanted") return { kind: "released" };
    if (isSubscriptionGone(status)) {
      await removeGoneSubscription(tx, random, current);
      return { kind: "gone" };
    }
    if (!isSent) return { kind: "rests", ms: rest };
    if (due.isShown) await deletePush(tx, id, due);
    else await show(tx, id, due, now);
    return { kind: "sent" };
  });
}

/** If the request was resolved during its announcement, the notification is removed at once. */
async function show(
  tx: Transaction,
  id: string,
  due: ClaimedPush["due"],
  now: number,
): Promise<void> {
  const { projectId, requestId } = due;
  const request = await readRequest(tx, { projectId, id: requestId });
  const isPending = request !== undefined && request.decision === null;
  await movePush(tx, id, { ...due, isShown: true }, isPending ? null : now);
}
