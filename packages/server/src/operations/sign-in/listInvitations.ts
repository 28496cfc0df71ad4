import type { Context } from "../../context.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { listInvitationsOf, type StoredInvitation } from "../../storage/sql/sign-in/invitations.ts";

const LISTED_MAX = 500;

/**
 * Stored invitations to the caller's project, latest first: open, used and expired.
 *
 * @throws Problem `forbidden`
 */
export async function listInvitations(
  { store }: Pick<Context, "store">,
  caller: ReviewerCaller,
): Promise<StoredInvitation[]> {
  assertMay(caller, "people");
  return listInvitationsOf(store, caller.projectId, LISTED_MAX);
}
