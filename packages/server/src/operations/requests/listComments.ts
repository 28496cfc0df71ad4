import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { readReviewers } from "../../storage/sql/access/holders.ts";
import { readComments, type StoredComment } from "../../storage/sql/requests/comments.ts";
import { readRequest } from "../../storage/sql/requests/requests.ts";

export interface NamedComment extends StoredComment {
  /** Name of the reviewer. */
  readonly reviewer: string;
}

/**
 * The comments on a request, the earliest first.
 *
 * @throws Problem `not_found`
 */
export async function listComments(
  { store }: Context,
  { projectId }: ReviewerCaller,
  requestId: string,
): Promise<NamedComment[]> {
  const key = { projectId, id: requestId };
  if ((await readRequest(store, key)) === undefined) throw new Problem("not_found");
  const comments = await readComments(store, key);
  const authors = [...new Set(comments.map(({ reviewerId }) => reviewerId))];
  const reviewers = await readReviewers(store, projectId, authors);
  const names = new Map(reviewers.map(({ id, name }) => [id, name]));
  return comments.map((one) => ({ ...one, reviewer: names.get(one.reviewerId) ?? "" }));
}
