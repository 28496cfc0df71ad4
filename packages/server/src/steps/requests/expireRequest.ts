import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { StoredRequest } from "../../core/request.ts";
import { lockForResolution } from "../../storage/sql/requests/requests.ts";
import { resolveRequest } from "./resolveRequest.ts";

/**
 * Expires a request for a reader that is earlier than the expiry worker, so no read returns
 * `pending` at or after the deadline.
 *
 * @returns the current request, also when another process resolved it
 * @throws Problem `not_found` when it was purged meanwhile
 */
export async function expireRequest(
  context: Context,
  request: StoredRequest,
): Promise<StoredRequest> {
  const { locked, resolution } = await context.store.transact(async (tx) => {
    const locked = await lockForResolution(tx, request);
    if (locked === undefined) throw new Problem("not_found");
    const resolution = await resolveRequest(tx, context, locked, { status: "expired" });
    return { locked, resolution };
  });
  if (resolution.kind === "not_due") return locked;
  const { decision } = resolution;
  return { ...locked, status: decision.status, decision };
}
