import type { Context } from "../context.ts";
import { RESOLVED_IDS_MAX, readResolvedIds } from "../storage/sql/requests.ts";

/**
 * Wakes the long polls of this process whose request was resolved by another replica, which
 * cannot signal here.
 *
 * Called by: the awaited worker.
 */
export async function wakeResolved({
  store,
  wake,
}: Pick<Context, "store" | "wake">): Promise<void> {
  const awaited = wake.awaited();
  for (let from = 0; from < awaited.length; from += RESOLVED_IDS_MAX) {
    const resolved = await readResolvedIds(store, awaited.slice(from, from + RESOLVED_IDS_MAX));
    for (const id of resolved) wake.resolvedElsewhere(id);
  }
}
