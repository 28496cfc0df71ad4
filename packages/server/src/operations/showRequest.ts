import { Problem } from "@countersign/protocol";
import type { Context } from "../context.ts";
import { isOverdue } from "../core/request.ts";
import type { ReviewerCaller } from "../identity/caller.ts";
import { readInstanceNames } from "../storage/sql/instances.ts";
import { readRequest } from "../storage/sql/requests.ts";
import { expireRequest } from "./expireRequest.ts";
import type { ReviewedRequest } from "./listRequests.ts";

/**
 * One request of the reviewer's project, as it stands.
 *
 * @throws Problem `not_found`
 */
export async function showRequest(
  context: Context,
  { projectId }: ReviewerCaller,
  id: string,
): Promise<ReviewedRequest> {
  const stored = await readRequest(context.store, { projectId, id });
  if (stored === undefined) throw new Problem("not_found");
  const overdue = isOverdue(stored, context.clock.now());
  const request = overdue ? await expireRequest(context, stored) : stored;
  const names = await readInstanceNames(context.store, projectId, [request.instanceId]);
  return { request, instanceName: names.get(request.instanceId) ?? '""' };
}
