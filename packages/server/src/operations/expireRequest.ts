import type { Context } from "../context.ts";
import type { StoredRequest } from "../core/request.ts";
import { lockRequest } from "../storage/sql/requests.ts";
import { resolveRequest } from "./resolveRequest.ts";

/**
 * Records that a request's window has passed, for a reader that came before the expiry worker:
 * nobody is ever shown `pending` at or after the deadline.
 *
 * @returns the request as it now stands, whoever ended it
 */
export async function expireRequest(
  context: Context,
  request: StoredRequest,
): Promise<StoredRequest> {
  const expired = await context.store.transact(async (tx) => {
    const locked = await lockRequest(tx, request.id);
    if (locked === undefined) return request;
    const resolution = await resolveRequest(tx, context, locked, { status: "expired" });
    if (resolution.kind === "not_due") return locked;
    const { decision } = resolution;
    return { ...locked, status: decision.status, decision };
  });
  context.wake.signal({ kind: "resolved", requestId: request.id });
  return expired;
}
