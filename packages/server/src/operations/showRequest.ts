import { Problem } from "@countersign/protocol";
import type { Context } from "../context.ts";
import { isOverdue } from "../core/request.ts";
import type { ReviewerCaller } from "../identity/caller.ts";
import { readRequest } from "../storage/sql/requests.ts";
import { expireRequest } from "./expireRequest.ts";
import { type ReviewedRequest, reviewRequests } from "./reviewRequests.ts";

/**
 * One request of the reviewer's project, as it stands.
 *
 * @throws Problem `not_found`
 */
export async function showRequest(
  context: Context,
  caller: ReviewerCaller,
  id: string,
): Promise<ReviewedRequest> {
  const stored = await readRequest(context.store, { projectId: caller.projectId, id });
  if (stored === undefined) throw new Problem("not_found");
  const now = context.clock.now();
  const request = isOverdue(stored, now) ? await expireRequest(context, stored) : stored;
  const [reviewed] = await reviewRequests(context.store, caller, [request], now);
  if (reviewed === undefined) throw new Error("a request was lost on the way");
  return reviewed;
}
