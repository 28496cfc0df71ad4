import type { Context } from "../../context.ts";
import { RESOLVED_IDS_MAX, readResolvedIds } from "../../storage/sql/requests/requests.ts";

/**
 * Wakes the long polls of this process whose request was resolved by another replica, which
 * cannot signal here.
 *
 * Called by: the awaited worker.
 *
 * @param requestIds of requests that somebody waits for; nobody is woken for one that is pending
 */
export async function wakeResolved(
  { store, wake }: Pick<Context, "store" | "wake">,
  requestIds: readonly string[],
): Promise<void> {
  for (let from = 0; from < requestIds.length; from += RESOLVED_IDS_MAX) {
    const keys = requestIds.slice(from, from + RESOLVED_IDS_MAX).flatMap((id) => {
      const projectId = wake.projectOf(id);
      return projectId === undefined ? [] : [{ projectId, id }];
    });
    const resolved = await readResolvedIds(store, keys);
    for (const id of resolved) wake.resolvedElsewhere(id);
  }
}
