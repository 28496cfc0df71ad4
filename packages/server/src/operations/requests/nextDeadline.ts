import type { Context } from "../../context.ts";
import { readNextDeadline } from "../../storage/sql/requests/pending-requests.ts";

/**
 * When the next pending request expires.
 *
 * @returns epoch ms; undefined without pending requests
 */
export async function nextDeadline(context: Context): Promise<number | undefined> {
  return readNextDeadline(context.store);
}
