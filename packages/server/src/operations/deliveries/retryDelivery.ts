import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { NotificationEndCause } from "../../core/notification.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { assertMayRetry } from "../../steps/deliveries/assertMayRetry.ts";
import {
  type ReviewedDelivery,
  reviewDeliveries,
} from "../../steps/deliveries/reviewDeliveries.ts";
import { readNotificationOfProject } from "../../storage/sql/deliveries/notification-listings.ts";
import {
  lockNotification,
  retryNotificationNow,
} from "../../storage/sql/deliveries/notifications.ts";
import type { RowKey } from "../../storage/sql/keys.ts";
import type { Transaction } from "../../storage/store.ts";

/**
 * Makes the next attempt of a waiting delivery due now, without its backoff. The receiver's
 * `Retry-After` still applies. A delivery in flight or already due is unchanged, but the pause of
 * its destination ends.
 *
 * @param id of the delivery, or of its request
 * @returns the updated delivery; the attempt follows later
 * @throws Problem `forbidden` for viewers; `not_found` outside the reviewer's project;
 * `already_terminal` when delivery has ended, because the contract permits no further attempt
 */
export async function retryDelivery(
  context: Context,
  caller: ReviewerCaller,
  id: string,
): Promise<ReviewedDelivery> {
  assertMayRetry(caller);
  const { store, wake } = context;
  const { projectId } = caller;
  const found = await readNotificationOfProject(store, { projectId, id });
  if (found === undefined) throw new Problem("not_found");
  return store.transact(async (tx) => {
    const delivery = await retryNow(tx, context, caller, found);
    const { instanceId } = delivery.notification;
    if (delivery.progress.kind === "waiting") {
      tx.onCommit(() => wake.signal({ kind: "retryRequested", projectId, instanceId }));
    }
    return delivery;
  });
}

async function retryNow(
  tx: Transaction,
  { random }: Pick<Context, "random">,
  { reviewerId }: ReviewerCaller,
  { projectId, id }: RowKey,
): Promise<ReviewedDelivery> {
  const locked = await lockNotification(tx, { projectId, id });
  const now = await tx.now();
  const [delivery] =
    locked === undefined ? [] : await reviewDeliveries(tx, projectId, [locked], now);
  if (locked === undefined || delivery === undefined) throw new Problem("not_found");
  const { progress } = delivery;
  if (progress.kind === "ended") throw new Problem("already_terminal", ENDED[progress.by]);
  if (!(await retryNotificationNow(tx, locked, now))) return delivery;
  await appendAudit(tx, random, {
    at: now,
    projectId,
    kind: "delivery.hurried",
    actor: `reviewer:${reviewerId}`,
    subject: `request:${locked.requestId}`,
    detail: { delivery_id: id },
  });
  const nextAt = Math.max(now, locked.notBefore ?? 0);
  return { ...delivery, notification: { ...locked, nextAt }, progress: { ...progress, nextAt } };
}

/** The reason why nothing can be retried. */
const ENDED: Readonly<Record<NotificationEndCause, string>> = {
  acknowledged: "The delivery has ended: the receiver acknowledged it.",
  window: "The delivery has ended: its 168 hours are over.",
  removal: "The delivery has ended: the receiver was removed.",
  deletion: "The delivery has ended: the instance was deleted.",
};
