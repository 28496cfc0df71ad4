import type { Context } from "../../context.ts";
import { countPending } from "../../storage/sql/requests/pending-requests.ts";

/** The number of pending requests over all projects. */
export async function countPendingRequests(context: Context): Promise<number> {
  return countPending(context.store);
}
