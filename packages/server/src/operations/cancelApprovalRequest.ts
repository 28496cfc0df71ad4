import { Problem } from "@countersign/protocol";
import type { Context } from "../context.ts";
import type { StoredRequest } from "../core/request.ts";
import type { InstanceCaller } from "../identity/caller.ts";
import { lockRequestOfInstance } from "../storage/sql/requests.ts";
import { resolveRequest } from "./resolveRequest.ts";

/**
 * Withdraws a pending request on behalf of the instance that made it. Repeating it answers the
 * same cancelled request.
 *
 * @throws Problem `not_found`; `already_terminal` when it was approved, denied or has expired
 * @see contract: Endpoints, DELETE /v1/requests/{id}
 */
export async function cancelApprovalRequest(
  context: Context,
  caller: InstanceCaller,
  id: string,
): Promise<StoredRequest> {
  const cancelled = await context.store.transact(async (tx) => {
    const request = await lockRequestOfInstance(tx, id, caller.instanceId);
    if (request === undefined) throw new Problem("not_found");
    const by = `instance:${caller.instanceId}` as const;
    const resolution = await resolveRequest(tx, context, request, { status: "cancelled", by });
    if (resolution.kind === "not_due") throw new Error("a cancellation cannot be early");
    const { decision } = resolution;
    return { ...request, status: decision.status, decision };
  });
  context.wake.signal({ kind: "resolved", requestId: id });
  if (cancelled.status !== "cancelled") throw new Problem("already_terminal");
  return cancelled;
}
