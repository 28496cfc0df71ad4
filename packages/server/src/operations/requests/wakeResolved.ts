import type { Context } from "../../context.ts";
import { RESOLVED_IDS_MAX, readResolvedIds } from "../../storage/sql/requests/requests.ts";

/**
 * Wakes the long polls of this process for requests that another replica resolved.
 *
 * @param requestIds of requests with long polls; those of a pending request keep waiting
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
