/** Starts the creation of a passkey, for a signed-in person or for the holder of a link. */

import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { parseLogin } from "../../core/login.ts";
import { assertFresh } from "../../identity/assert-fresh.ts";
import type { SignedIn } from "../../identity/caller.ts";
import { creationOptions, type RelyingParty } from "../../identity/passkeys.ts";
import { hashToken } from "../../secrets/token.ts";
import { ADD_CEREMONY, beginCeremony, LINK_CEREMONY } from "../../steps/sign-in/beginCeremony.ts";
import { listPasskeysOf } from "../../storage/sql/sign-in/passkeys.ts";
import { openInvitation } from "./openInvitation.ts";

/** The same passkey is not made twice; it bounds the options and the settings. */
export const PASSKEYS_MAX = 20;

/**
 * Options with which a browser creates another passkey for a user with a fresh sign-in.
 *
 * @returns options for `navigator.credentials.create`, as JSON text
 * @throws Problem `forbidden` when the sign-in is not fresh, or there are too many
 */
export async function beginPasskey(
  context: Context,
  party: RelyingParty,
  { session, person }: SignedIn,
): Promise<string> {
  assertFresh(session, context.clock.now(), CHANGE_PASSKEYS);
  const existing = await listPasskeysOf(context.store, person.id);
  assertPasskeyLimit(existing.length);
  const challenge = await beginCeremony(context, ADD_CEREMONY, person.id);
  return creationOptions(party, person, existing, challenge);
}

/**
 * As {@link beginPasskey}, for the user of a link, who has no account yet or cannot sign in.
 *
 * @param token of the link
 * @param login of a new person, as it will be sent with the passkey; ignored for others
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
  const challenge = await beginCeremony(context, LINK_CEREMONY, null, hashToken(token));
  // The person has no id before the link is used.
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
