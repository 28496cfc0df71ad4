import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { StoredRequest } from "../../core/request.ts";
import type { InstanceCaller } from "../../identity/caller.ts";
import { resolveRequest, subjectOf } from "../../steps/requests/resolveRequest.ts";
import { lockForResolution } from "../../storage/sql/requests/requests.ts";

/**
 * Cancels a pending request for its instance. Repeating it returns the same cancelled request.
 *
 * @throws Problem `not_found`; `already_terminal` when it was approved, denied or has expired
 * @see contract: Endpoints, DELETE /v1/requests/{id}
 */
export async function cancelApprovalRequest(
  context: Context,
  caller: InstanceCaller,
  id: string,
): Promise<StoredRequest> {
  const subject = subjectOf({ projectId: caller.projectId, requestId: id });
  const { request, resolution } = await context.store.transactBatched(subject, async (tx) => {
    const locked = await lockForResolution(tx, { projectId: caller.projectId, id });
    if (locked?.instanceId !== caller.instanceId) throw new Problem("not_found");
    const ending = { status: "cancelled", by: `instance:${caller.instanceId}` } as const;
    return { request: locked, resolution: await resolveRequest(tx, context, locked, ending) };
  });
  if (resolution.kind === "not_due") throw new Error("a cancellation cannot be early");
  const { decision } = resolution;
  const { status } = decision;
  if (status !== "cancelled") throw new Problem("already_terminal");
  return { ...request, status, decision };
}
