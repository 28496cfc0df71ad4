/** Shows one request to a reviewer. */

import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { isOverdue, type StoredRequest } from "../../core/request.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { expireRequest } from "../../steps/requests/expireRequest.ts";
import { type ReviewedRequest, reviewRequests } from "../../steps/requests/reviewRequests.ts";
import { readRequest } from "../../storage/sql/requests/requests.ts";

export type { ReviewedRequest };

/**
 * The current state of a request of the reviewer's project.
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
  const isLate = isOverdue(stored, context.clock.now());
  return reviewRequest(context, caller, isLate ? await expireRequest(context, stored) : stored);
}

/** A request with related facts for reviewers. */
export async function reviewRequest(
  { store, clock }: Context,
  caller: ReviewerCaller,
  request: StoredRequest,
): Promise<ReviewedRequest> {
  const [reviewed] = await reviewRequests(store, caller, [request], clock.now());
  if (reviewed === undefined) throw new Error("the reviewed request is missing");
  return reviewed;
}
