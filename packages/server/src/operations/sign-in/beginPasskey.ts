/** Starts the creation of a passkey, for a signed-in user or the holder of a link. */

import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { parseLogin } from "../../core/login.ts";
import { assertFresh } from "../../identity/assert-fresh.ts";
import type { SignedIn } from "../../identity/caller.ts";
import { creationOptions, type RelyingParty } from "../../identity/passkeys.ts";
import { hashToken } from "../../secrets/token.ts";
import { ADD_CEREMONY, LINK_CEREMONY, startCeremony } from "../../steps/sign-in/startCeremony.ts";
import { listPasskeysOf } from "../../storage/sql/sign-in/passkeys.ts";
import { openInvitation } from "./openInvitation.ts";

/** Maximum for one user. Limits the size of the options, which exclude existing passkeys. */
export const PASSKEYS_MAX = 20;

/**
 * Options for a browser to create another passkey, for a user with a recent sign-in.
 *
 * @returns options for `navigator.credentials.create`, as JSON text
 * @throws Problem `forbidden` without a recent sign-in or with too many passkeys
 */
export async function beginPasskey(
  context: Context,
  party: RelyingParty,
  { session, person }: SignedIn,
): Promise<string> {
  assertFresh(session, context.clock.now(), CHANGE_PASSKEYS);
  const existing = await listPasskeysOf(context.store, person.id);
  assertPasskeyLimit(existing.length);
  const challenge = await startCeremony(context, ADD_CEREMONY, person.id);
  return creationOptions(party, person, existing, challenge);
}

/**
 * As {@link beginPasskey}, for the holder of a link, who has no account or cannot sign in.
 *
 * @param token of the link
 * @param login of a new user, as it will be sent with the passkey; ignored for others
 * @throws Problem `not_found` when the link cannot be used
 */
export async function beginPasskeyByLink(
  context: Context,
  party: RelyingParty,
  token: string,
  login: string | undefined,
): Promise<string> {
  const invitation = await openInvitation(context, token);
  const name = parseLogin(invitation.login ?? login ?? "");
  const challenge = await startCeremony(context, LINK_CEREMONY, null, hashToken(token));
  // The user has no id before the link is used.
  const id = context.random.uuid();
  return creationOptions(party, { id, login: name, name }, [], challenge);
}

export const CHANGE_PASSKEYS = "change your passkeys";

/** @throws Problem `forbidden` */
export function assertPasskeyLimit(count: number): void {
  if (count < PASSKEYS_MAX) return;
  throw new Problem(
    "forbidden",
    `You have ${PASSKEYS_MAX} passkeys, which is the maximum. Remove one first.`,
  );
}
