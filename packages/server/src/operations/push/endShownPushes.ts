import type { Context } from "../../context.ts";
import type { RowKey } from "../../storage/sql/keys.ts";
import { wakeShownPush, wakeShownPushes } from "../../storage/sql/push/push-messages.ts";

/**
 * Schedules messages that remove displayed notifications of resolved requests: of one request, or
 * of all in a project that were resolved without a signal.
 *
 * @returns how many messages became due
 */
export async function endShownPushes(
  { store }: Pick<Context, "store">,
  { projectId, id }: Pick<RowKey, "projectId"> & { readonly id?: string },
): Promise<number> {
  return store.transact(async (tx) => {
    const now = await tx.now();
    if (id === undefined) return wakeShownPushes(tx, projectId, now);
    return wakeShownPush(tx, { projectId, id }, now);
  }, "process");
}
