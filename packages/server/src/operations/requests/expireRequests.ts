import type { Context } from "../../context.ts";
import { lockUnlessDamaged } from "../../steps/requests/lockUnlessDamaged.ts";
import { resolveRequest } from "../../steps/requests/resolveRequest.ts";
import { readOverdue } from "../../storage/sql/requests/pending-requests.ts";

/** Limits one transaction. The worker continues at once while more are due. */
const REQUESTS_PER_CALL_MAX = 200;

/**
 * Expires pending requests after their deadline.
 *
 * @returns how many it expired, and whether more may be due
 * @see contract: States and transitions ("approval window passing")
 */
export async function expireRequests(
  context: Context,
): Promise<{ readonly expired: number; readonly more: boolean }> {
  const overdue = await readOverdue(context.store, context.clock.now(), REQUESTS_PER_CALL_MAX);
  if (overdue.length === 0) return { expired: 0, more: false };
  const expired = await context.store.transact(async (tx) => {
    let count = 0;
    for (const key of overdue) {
      const request = await lockUnlessDamaged(tx, key);
      if (request === undefined) continue;
      const resolution = await resolveRequest(tx, context, request, { status: "expired" });
      if (resolution.kind === "resolved") count++;
    }
    return count;
  });
  return { expired, more: overdue.length === REQUESTS_PER_CALL_MAX && expired > 0 };
}
