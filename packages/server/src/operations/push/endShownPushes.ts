import type { Context } from "../../context.ts";
import type { RowKey } from "../../storage/sql/keys.ts";
import { wakeShownPush, wakeShownPushes } from "../../storage/sql/push/push-messages.ts";

/**
 * Makes it due that browsers learn the end of requests that they show: of one request, or of all
 * in a project that ended without a signal.
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
