import type { Context } from "../../context.ts";
import { isLive } from "../../core/session.ts";
import type { SignedIn } from "../../identity/caller.ts";
import { listPasskeyNames, type NamedPasskey } from "../../storage/sql/people/people.ts";
import { listSessions, type StoredSession } from "../../storage/sql/sign-in/sessions.ts";

/** The account of the signed-in user. */
export interface ShownAccount {
  /** The user's sessions, latest first. */
  readonly sessions: readonly StoredSession[];
  readonly passkeys: readonly NamedPasskey[];
}

/** The active sessions and the passkeys of the signed-in user. */
export async function showAccount(
  { store, clock }: Pick<Context, "store" | "clock">,
  { person }: SignedIn,
): Promise<ShownAccount> {
  const now = clock.now();
  const [sessions, passkeys] = await Promise.all([
    listSessions(store, person.id),
    listPasskeyNames(store, person.id),
  ]);
  return { sessions: sessions.filter((session) => isLive(session, now)), passkeys };
}
