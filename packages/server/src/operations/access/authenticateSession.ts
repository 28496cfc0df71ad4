/** Authenticates a session cookie, and finds the reviewer whom the session acts as. */

import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { isLastSeenStale, isLive } from "../../core/session.ts";
import { Failure } from "../../failure.ts";
import type { ReviewerCaller, SignedIn } from "../../identity/caller.ts";
import { isOpaque } from "../../secrets/opaque.ts";
import { hashToken } from "../../secrets/token.ts";
import { readMembership, readPerson } from "../../storage/sql/people/people.ts";
import { readSessionByHash, touchSession } from "../../storage/sql/sign-in/sessions.ts";

export interface SessionUse {
  /** The project to act in; undefined: that of the session. */
  readonly projectId?: string | undefined;
  /** True when a user acted: automatic requests of a page do not extend a session. */
  readonly isUse?: boolean;
}

/**
 * Authenticates a session cookie. Unknown, expired and ended sessions, and those of disabled users,
 * have the same answer. Permissions are read again each time, so a removed reviewer loses them at
 * once.
 *
 * @throws Problem `invalid_credential`; `not_found` when the user is not a reviewer of the project
 * that the call names
 */
export async function authenticateSession(
  context: Context,
  cookie: string,
  { projectId, isUse = true }: SessionUse = {},
): Promise<SignedIn> {
  if (!isOpaque(cookie)) throw new Problem("invalid_credential");
  const { store } = context;
  const tokenHash = hashToken(cookie);
  const session = await readSessionByHash(store, tokenHash);
  const now = context.clock.now();
  if (session === undefined || !isLive(session, now)) throw new Problem("invalid_credential");
  const [person, membership] = await Promise.all([
    readPerson(store, session.personId),
    readMembership(store, projectId ?? session.projectId, session.personId),
  ]);
  if (person === undefined || person.disabledAt !== null) throw new Problem("invalid_credential");
  if (projectId !== undefined && membership === undefined) throw new Problem("not_found");
  if (isUse && isLastSeenStale(session, now)) await recordUse(context, tokenHash, now);
  return { session, person, membership };
}

/**
 * The permissions of a signed-in user in the project of the call.
 *
 * @throws Problem `forbidden` when the user is not, or no longer, a reviewer there
 */
export function reviewerOf({ session, person, membership }: SignedIn): ReviewerCaller {
  if (membership === undefined) {
    throw new Problem(
      "forbidden",
      "You are not a reviewer of this project. Name another project in Countersign-Project.",
    );
  }
  const { projectId, reviewerId, name, role, groups } = membership;
  return {
    kind: "reviewer",
    credentialId: session.id,
    projectId,
    reviewerId,
    name,
    role,
    groups,
    // A signed-in user is a person with all powers of the role.
    isBot: false,
    scopes: null,
    personId: person.id,
    session,
  };
}

/** A read-only database must not prevent signed-in users from reading. */
async function recordUse({ store }: Context, tokenHash: string, now: number): Promise<void> {
  try {
    await store.transact((tx) => touchSession(tx, tokenHash, now), "process");
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
  }
}
