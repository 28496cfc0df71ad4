import type { KeyObject } from "node:crypto";
import type { WebhookUrl } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { deliveryWindowEnd } from "../../core/delivery-progress.ts";
import { attemptDeadline, DELIVERY_LEASE } from "../../core/lease.ts";
import {
  isWindowOver,
  type NotificationEndCause,
  type StoredNotification,
} from "../../core/notification.ts";
import { signingSecretContext } from "../../steps/deliveries/installReceiver.ts";
import {
  claimNotification,
  type DueNotification,
  type DueReceiver,
  endNotification,
  readDueNotifications,
} from "../../storage/sql/deliveries/notifications.ts";
import type { InstanceKey } from "../../storage/sql/keys.ts";
import type { Transaction } from "../../storage/store.ts";

/** The receiver of an instance. */
interface Target {
  /** The current receiver; undefined when its URL is no longer accepted. */
  readonly url: WebhookUrl | undefined;
  readonly signingKey: KeyObject;
}

/** A claimed notification. No other replica attempts it until the lease ends. */
export interface ClaimedNotification extends Target {
  readonly notification: StoredNotification;
  /** Fence of the claim. A result with an older one is ignored. */
  readonly fence: number;
  /** `Clock.monotonic` by which an attempt must end, with a margin to the end of the lease. */
  readonly endsBy: number;
}

export interface Claim {
  readonly claimed: readonly ClaimedNotification[];
  /** True when the instance may have more due notifications. */
  readonly more: boolean;
}

/**
 * Claims due notifications of an instance for one attempt each, with the current receiver. Also
 * records the end of notifications with an ended window or epoch.
 *
 * @param limit maximum attempts
 * @param outstanding ids of the instance that this process is still attempting, regardless of their
 * lease
 * @throws Failure `secret-key` when the key of the signing secret is missing; nothing is claimed
 * @see contract: Events, Delivery rules, 1 and 3
 */
export async function claimNotifications(
  context: Context,
  instance: InstanceKey,
  limit: number,
  outstanding: ReadonlySet<string>,
): Promise<Claim> {
  const endsBy = attemptDeadline(context.clock, DELIVERY_LEASE);
  // A power failure that undoes a claim also stopped its process.
  return context.store.transact(async (tx) => {
    const now = await tx.now();
    const due = await readFree(tx, instance, now, limit, outstanding);
    let target: Target | undefined;
    // Decrypted once for all, and not at all when there are only ends to record.
    const open = (receiver: DueReceiver) => {
      target ??= openTarget(context, instance, receiver);
      return target;
    };
    const claimed: ClaimedNotification[] = [];
    for (const one of due) {
      const claimedOne = await claim(tx, context, open, one, now);
      if (claimedOne !== undefined) claimed.push({ ...claimedOne, endsBy });
    }
    return { claimed, more: due.length === limit };
  }, "process");
}

/** Outstanding ones may be due again, and must not take the place of others. */
async function readFree(
  tx: Transaction,
  instance: InstanceKey,
  now: number,
  limit: number,
  outstanding: ReadonlySet<string>,
): Promise<DueNotification[]> {
  const isFree = ({ notification: { id } }: DueNotification) => !outstanding.has(id);
  const due = await readDueNotifications(tx, instance, now, limit);
  if (due.every(isFree)) return due;
  const more = await readDueNotifications(tx, instance, now, limit + outstanding.size);
  return more.filter(isFree).slice(0, limit);
}

/**
 * Does not lock the instance. The outbox calls `isStillClaimed` before it sends, which detects a
 * concurrent removal.
 */
async function claim(
  tx: Transaction,
  context: Pick<Context, "random">,
  open: (receiver: DueReceiver) => Target,
  { notification, deliveryEpoch, isInstanceDeleted, receiver }: DueNotification,
  now: number,
): Promise<Omit<ClaimedNotification, "endsBy"> | undefined> {
  const { fence } = notification;
  if (receiver === null || notification.deliveryEpoch < deliveryEpoch) {
    const by = isInstanceDeleted ? "deletion" : "removal";
    await end(tx, context, notification, { by, at: now }, now);
    return undefined;
  }
  if (isWindowOver(notification, now)) {
    // The end of the window, even when it is recorded much later.
    const at = deliveryWindowEnd(notification);
    await end(tx, context, notification, { by: "window", at }, now);
    return undefined;
  }
  const target = open(receiver);
  const claimedUntil = now + DELIVERY_LEASE.ms;
  if (!(await claimNotification(tx, notification, now, claimedUntil))) return undefined;
  return { notification, fence: fence + 1, ...target };
}

async function end(
  tx: Transaction,
  { random }: Pick<Context, "random">,
  notification: StoredNotification,
  { by, at }: { readonly by: NotificationEndCause; readonly at: number },
  now: number,
): Promise<void> {
  if (!(await endNotification(tx, notification, by, at))) return;
  const { projectId, requestId, id, attempts } = notification;
  await appendAudit(tx, random, {
    at: now,
    projectId,
    kind: "delivery.ended",
    actor: "system:delivery",
    subject: `request:${requestId}`,
    detail: { delivery_id: id, by, attempts, ended_at: at },
  });
}

function openTarget(
  { keyring, delivery }: Context,
  { instanceId }: InstanceKey,
  receiver: DueReceiver,
): Target {
  const secretContext = signingSecretContext(instanceId);
  const signingKey = keyring.decryptSigningKey(receiver.encryptedSecret, secretContext);
  return { url: delivery.urls.read(receiver.url), signingKey };
}
