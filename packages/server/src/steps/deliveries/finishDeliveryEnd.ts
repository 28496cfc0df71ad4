import { type AuditEntry, appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { endNotificationsBefore } from "../../storage/sql/deliveries/notifications.ts";
import { readDeliveryState } from "../../storage/sql/deliveries/receivers.ts";
import type { InstanceKey } from "../../storage/sql/keys.ts";

/** Limits one transaction. Few instances have more queued notifications. */
const NOTIFICATIONS_PER_COMMIT_MAX = 500;

/**
 * Records the end of notifications after their delivery epoch has ended. No attempt starts in
 * between, so an interruption is harmless: the outbox completes it.
 */
export async function finishDeliveryEnd(context: Context, instance: InstanceKey): Promise<void> {
  for (;;) {
    const ended = await context.store.transact(async (tx) => {
      const state = await readDeliveryState(tx, instance);
      if (state === undefined) return 0;
      const by = state.isDeleted ? "deletion" : "removal";
      const limit = NOTIFICATIONS_PER_COMMIT_MAX;
      const now = await tx.now();
      const count = await endNotificationsBefore(tx, instance, state.epoch, by, now, limit);
      if (count > 0) await appendAudit(tx, context.random, entryOf(instance, by, count, now));
      return count;
    });
    if (ended < NOTIFICATIONS_PER_COMMIT_MAX) return;
  }
}

/**
 * One entry for all: they end for the same reason, and their requests have entries of their own.
 */
function entryOf(
  { projectId, instanceId }: InstanceKey,
  by: string,
  deliveries: number,
  now: number,
): AuditEntry {
  return {
    at: now,
    projectId,
    kind: "delivery.ended",
    actor: "system:delivery",
    subject: `instance:${instanceId}`,
    detail: { deliveries, by },
  };
}
