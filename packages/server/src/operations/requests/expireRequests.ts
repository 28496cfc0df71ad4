import type { Context } from "../../context.ts";
import type { ResolvableRequest } from "../../core/request.ts";
import { Failure } from "../../failure.ts";
import type { RowKey } from "../../storage/sql/keys.ts";
import { readOverdue } from "../../storage/sql/requests/pending-requests.ts";
import { lockResolvable } from "../../storage/sql/requests/requests.ts";
import type { Transaction } from "../../storage/store.ts";
import { resolveRequest } from "./resolveRequest.ts";

/** Bounds one transaction; the worker comes again at once while there is more. */
const REQUESTS_PER_CALL_MAX = 200;

/**
 * Ends pending requests whose window has passed.
 *
 * Called by: the expiry worker.
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
      const request = await lockReadable(tx, key);
      if (request === undefined) continue;
      const resolution = await resolveRequest(tx, context, request, { status: "expired" });
      if (resolution.kind === "resolved") count++;
    }
    return count;
  });
  return { expired, more: overdue.length === REQUESTS_PER_CALL_MAX && expired > 0 };
}

/** One damaged row must not keep all others from expiring; whoever reads it is told. */
export async function lockReadable(
  tx: Transaction,
  key: RowKey,
): Promise<ResolvableRequest | undefined> {
  try {
    return await lockResolvable(tx, key);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}
