import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { assertMayRetry } from "../../steps/deliveries/assertMayRetry.ts";
import { readLaterNotifications } from "../../storage/sql/deliveries/notification-listings.ts";
import { retryNotificationNow } from "../../storage/sql/deliveries/notifications.ts";
import { readActiveInstance } from "../../storage/sql/instances/instances.ts";
import type { InstanceKey } from "../../storage/sql/keys.ts";
import type { Cursor } from "../../storage/sql/requests/requests.ts";
import type { Transaction } from "../../storage/store.ts";

/** Limits one transaction. Few instances have more queued notifications. */
const NOTIFICATIONS_PER_COMMIT_MAX = 500;

interface Batch {
  readonly count: number;
  /** Cursor of the next step; undefined at the end. */
  readonly next: Cursor | undefined;
}

/**
 * Makes all waiting deliveries of an instance due now, as retryDelivery does with one: for an
 * operator who has fixed a receiver. After an interruption, some are due and the others unchanged.
 *
 * @returns how many were due later
 * @throws Problem `forbidden` for viewers; `not_found` when the instance is deleted or outside the
 * reviewer's project
 */
export async function retryDeliveries(
  context: Context,
  caller: ReviewerCaller,
  instanceId: string,
): Promise<number> {
  assertMayRetry(caller);
  const { store } = context;
  const instance = { projectId: caller.projectId, instanceId };
  if ((await readActiveInstance(store, instance)) === undefined) throw new Problem("not_found");
  let count = 0;
  let after: Cursor | undefined;
  do {
    const cursor: Cursor | undefined = after;
    const batch = await store.transact((tx) => retryNow(tx, context, caller, instance, cursor));
    count += batch.count;
    after = batch.next;
  } while (after !== undefined);
  return count;
}

/** In time order, so that deliveries that fail meanwhile are not processed twice. */
async function retryNow(
  tx: Transaction,
  { random, wake }: Pick<Context, "random" | "wake">,
  { reviewerId }: ReviewerCaller,
  { projectId, instanceId }: InstanceKey,
  after: Cursor | undefined,
): Promise<Batch> {
  // Also without waiting deliveries: due ones may be paused by a breaker.
  tx.onCommit(() => wake.signal({ kind: "retryRequested", projectId, instanceId }));
  const now = await tx.now();
  const from = after === undefined || after.at <= now ? { at: now, id: LAST_ID } : after;
  const limit = NOTIFICATIONS_PER_COMMIT_MAX;
  const later = await readLaterNotifications(tx, { projectId, instanceId }, from, now, limit);
  let count = 0;
  // By id, the order in which all transactions lock several rows.
  for (const id of later.map(({ id }) => id).sort()) {
    if (await retryNotificationNow(tx, { projectId, id }, now)) count++;
  }
  if (count > 0) {
    await appendAudit(tx, random, {
      at: now,
      projectId,
      kind: "delivery.hurried",
      actor: `reviewer:${reviewerId}`,
      subject: `instance:${instanceId}`,
      detail: { deliveries: count },
    });
  }
  return { count, next: later.length < limit ? undefined : later.at(-1) };
}

/** Sorts after every other identifier, in any collation. */
const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";
