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
 * Makes the next attempt of a waiting delivery due now, whatever the backoff says, or at the time
 * that the receiver asked for with `Retry-After`, which binds operators too. One that is in flight
 * or due already stays as it is, but a pause that its destination was given ends.
 *
 * @param id its own, or that of its request
 * @returns the delivery as this left it; the attempt itself comes later
 * @throws Problem `forbidden` for viewers, `not_found` outside the reviewer's project,
 *   `already_terminal` when delivery has ended: the contract has no attempt after that
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

/** Why there is nothing to retry. */
const ENDED: Readonly<Record<NotificationEndCause, string>> = {
  acknowledged: "The delivery has ended: the receiver acknowledged it.",
  window: "The delivery has ended: its 168 hours are over.",
  removal: "The delivery has ended: the receiver was removed.",
  deletion: "The delivery has ended: the instance was deleted.",
};
