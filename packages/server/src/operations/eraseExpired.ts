import type { Context } from "../context.ts";
import { readProjectIds } from "../storage/sql/holders.ts";
import { deleteResultsBefore } from "../storage/sql/idempotency.ts";
import { deleteInstancesDeletedBefore } from "../storage/sql/instances.ts";
import { deleteDecidedBefore } from "../storage/sql/requests.ts";

/** Bounds one transaction; the worker comes again at once while there is more. */
const ROWS_PER_CALL_MAX = 500;

/**
 * Erases what the contract no longer asks us to keep: requests with their keys, results with
 * their sealed credentials, and deletion records. Pending requests and audit entries are never
 * erased.
 *
 * Called by: the retention worker.
 *
 * @returns how many rows were erased, and whether there may be more
 * @see contract: Limits; Endpoints, POST /v1/requests (retention)
 */
export async function eraseExpired(
  context: Context,
): Promise<{ readonly erased: number; readonly more: boolean }> {
  const projects = await readProjectIds(context.store);
  const counts = await context.store.transact(async (tx) => {
    const before = (await tx.now()) - context.settings.retentionMs;
    const requests: number[] = [];
    for (const project of projects) {
      requests.push(await deleteDecidedBefore(tx, project, before, ROWS_PER_CALL_MAX));
    }
    return [
      ...requests,
      await deleteResultsBefore(tx, before, ROWS_PER_CALL_MAX),
      await deleteInstancesDeletedBefore(tx, before, ROWS_PER_CALL_MAX),
    ];
  });
  return {
    erased: counts.reduce((sum, count) => sum + count, 0),
    more: counts.includes(ROWS_PER_CALL_MAX),
  };
}
