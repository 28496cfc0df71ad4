/** Cancels the pending requests of a deleted instance, in batches. */

import type { Context } from "../../context.ts";
import type { InstanceKey } from "../../storage/sql/keys.ts";
import { readPendingIdsOfInstance } from "../../storage/sql/requests/pending-requests.ts";
import { lockForResolution } from "../../storage/sql/requests/requests.ts";
import type { Transaction } from "../../storage/store.ts";
import { resolveRequest } from "../requests/resolveRequest.ts";

/** Cancels all pending requests of a deleted instance. */
export async function finishDeletion(context: Context, instance: InstanceKey): Promise<void> {
  while (await context.store.transact((tx) => cancelPending(tx, context, instance)));
}

/**
 * Cancels one batch of the pending requests, including overdue ones.
 *
 * @returns true when more may exist
 */
export async function cancelPending(
  tx: Transaction,
  context: Context,
  instance: InstanceKey,
): Promise<boolean> {
  const { cancellationsPerCommitMax: limit } = context.settings;
  const pending = await readPendingIdsOfInstance(tx, instance, limit);
  for (const id of pending) {
    const request = await lockForResolution(tx, { projectId: instance.projectId, id });
    if (request === undefined) continue;
    const by = "system:instance-deletion";
    await resolveRequest(tx, context, request, { status: "cancelled", by });
  }
  // Compares the batch size, because others may have resolved some of them concurrently.
  return pending.length === limit;
}
