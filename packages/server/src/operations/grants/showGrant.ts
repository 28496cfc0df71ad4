import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { type ReviewedGrant, reviewGrant } from "../../steps/grants/reviewGrants.ts";
import { readGrant } from "../../storage/sql/grants/grants.ts";

/**
 * The current state of a grant of the reviewer's project.
 *
 * @throws Problem `not_found`
 */
export async function showGrant(
  { store }: Context,
  { projectId }: ReviewerCaller,
  id: string,
): Promise<ReviewedGrant> {
  const grant = await readGrant(store, { projectId, id });
  if (grant === undefined) throw new Problem("not_found");
  return reviewGrant(store, grant);
}
