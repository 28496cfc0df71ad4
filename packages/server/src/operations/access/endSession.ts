/** Ends one session of a user: by sign-out, or because the browser has a new session. */

import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { SignedIn } from "../../identity/caller.ts";
import { isOpaque } from "../../secrets/opaque.ts";
import { hashToken } from "../../secrets/token.ts";
import { endSessions } from "../../steps/access/endSessions.ts";
import { listSessions, readSessionByHash } from "../../storage/sql/sign-in/sessions.ts";

/**
 * Signs out of a session of the user: the current one, or another one.
 *
 * @throws Problem `not_found` when the user has no session with this id
 */
export async function endSession(
  context: Context,
  { person }: SignedIn,
  id: string,
): Promise<void> {
  await context.store.transact(async (tx) => {
    const session = (await listSessions(tx, person.id)).find((one) => one.id === id);
    if (session === undefined) throw new Problem("not_found");
    const end = { by: `person:${person.id}`, because: "signed out" } as const;
    await endSessions(tx, context, [session], end);
  });
}

/**
 * Ends the earlier session of a browser after a new sign-in. Other values are ignored.
 *
 * @param cookie of the earlier session
 */
export async function replaceSession(context: Context, cookie: string | undefined): Promise<void> {
  if (cookie === undefined || !isOpaque(cookie)) return;
  const { store } = context;
  const session = await readSessionByHash(store, hashToken(cookie));
  if (session === undefined) return;
  const end = { by: `person:${session.personId}`, because: "signed in anew" } as const;
  await store.transact((tx) => endSessions(tx, context, [session], end));
}
