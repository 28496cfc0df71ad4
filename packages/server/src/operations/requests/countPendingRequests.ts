import type { Context } from "../../context.ts";
import { countPending } from "../../storage/sql/requests/pending-requests.ts";

/** How many requests have no decision yet, over all projects. */
export async function countPendingRequests(context: Context): Promise<number> {
  return countPending(context.store);
}
