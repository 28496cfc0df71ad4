/** Shows a signed-in person with the projects that they belong to. */

import type { Context } from "../../context.ts";
import type { SignedIn } from "../../identity/caller.ts";
import { listMemberships, type Membership } from "../../storage/sql/people/people.ts";
import { authenticateSession } from "./authenticateSession.ts";

/** A signed-in user and the projects of that user. */
export interface ShownSession {
  readonly signedIn: SignedIn;
  /** Sorted by project name. */
  readonly memberships: readonly Membership[];
}

export async function showSession(
  { store }: Pick<Context, "store">,
  signedIn: SignedIn,
): Promise<ShownSession> {
  return { signedIn, memberships: await listMemberships(store, signedIn.person.id) };
}

/**
 * The same for a new session.
 *
 * @param cookie from createSession
 * @throws Problem `invalid_credential` when it has ended meanwhile
 */
export async function showNewSession(context: Context, cookie: string): Promise<ShownSession> {
  return showSession(context, await authenticateSession(context, cookie));
}
