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

/** Where an instance is notified. */
interface Target {
  /** The receiver as it is now; undefined when its URL is not acceptable any more. */
  readonly url: WebhookUrl | undefined;
  readonly signingKey: KeyObject;
}

/** A notification that no other replica attempts until its lease ends. */
export interface ClaimedNotification extends Target {
  readonly notification: StoredNotification;
  /** Of the claim; a result under an older one is ignored. */
  readonly fence: number;
  /** `Clock.monotonic` when an attempt must be over, with a margin to the end of the lease. */
  readonly endsBy: number;
}

export interface Claim {
  readonly claimed: readonly ClaimedNotification[];
  /** Whether the instance may have more that is due. */
  readonly more: boolean;
}

/**
 * Takes due notifications of an instance for one attempt each, with the receiver as it is now.
 * On the way it records the end of those whose window or epoch has passed.
 *
 * @param limit how many attempts there is room for
 * @param outstanding those of the instance that this process is still attempting, whatever their
 *   lease says
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
  // A loss of power that undoes a claim has ended its holder too.
  return context.store.transact(async (tx) => {
    const now = await tx.now();
    const due = await readFree(tx, instance, now, limit, outstanding);
    let target: Target | undefined;
    // Once for all of them, and not at all when there is only an end to record.
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

/** What is outstanding may be due again, and must not stand before what is not. */
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
 * The instance is not locked. `isStillClaimed`, which the outbox calls before it sends anything,
 * sees a removal that commits at the same time.
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
    // It ended then, even when that is recorded much later.
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
