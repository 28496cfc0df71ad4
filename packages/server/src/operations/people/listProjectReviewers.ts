/** Returns the reviewers of a project and the groups that its policy may name. */

import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import type { KnownGroups } from "../../policy/rule.ts";
import { readKnownGroups } from "../../steps/policy/readKnownGroups.ts";
import {
  listReviewersOf,
  readReviewer,
  type StoredReviewer,
} from "../../storage/sql/access/holders.ts";

export type ReviewedReviewer = StoredReviewer;

/** The reviewers of the caller's project, sorted by name, without removed ones. */
export async function listProjectReviewers(
  { store }: Pick<Context, "store">,
  { projectId }: ReviewerCaller,
): Promise<readonly ReviewedReviewer[]> {
  const reviewers = await listReviewersOf(store, projectId);
  return reviewers.filter(({ removedAt }) => removedAt === null);
}

/** @throws Problem `not_found`, also for a removed reviewer */
export async function showReviewer(
  { store }: Pick<Context, "store">,
  { projectId }: ReviewerCaller,
  id: string,
): Promise<ReviewedReviewer> {
  const reviewer = await readReviewer(store, { projectId, id });
  if (reviewer === undefined || reviewer.removedAt !== null) throw new Problem("not_found");
  return reviewer;
}

/** The groups that a policy of the caller's project may name. */
export async function listGroups(
  { store }: Pick<Context, "store">,
  { projectId }: ReviewerCaller,
): Promise<Pick<KnownGroups, "reviewers" | "instances">> {
  return readKnownGroups(store, projectId);
}
