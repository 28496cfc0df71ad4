import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { SignedIn } from "../../identity/caller.ts";
import { readMembership } from "../../storage/sql/people/people.ts";
import { moveSession } from "../../storage/sql/sign-in/sessions.ts";

/**
 * Selects another project of the user in a session.
 *
 * @throws Problem `not_found` when the user is not a reviewer there; `invalid_credential` when the
 * session has ended meanwhile
 */
export async function switchProject(
  { store }: Pick<Context, "store">,
  { session, person }: SignedIn,
  projectId: string,
): Promise<SignedIn> {
  // PostgreSQL rejects texts with this character, and no project id contains it.
  if (projectId.includes("\0")) throw new Problem("not_found");
  return store.transact(async (tx) => {
    const membership = await readMembership(tx, projectId, person.id);
    if (membership === undefined) throw new Problem("not_found");
    const isMoved = await moveSession(tx, person.id, session.id, projectId);
    if (!isMoved) throw new Problem("invalid_credential");
    return { session: { ...session, projectId }, person, membership };
  });
}
