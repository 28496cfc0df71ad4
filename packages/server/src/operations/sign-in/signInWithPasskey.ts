/** Signs a user in with a passkey: generates the challenge, then verifies the response. */

import type { Context } from "../../context.ts";
import {
  type BrowserCredential,
  challengeOf,
  credentialIdOf,
  isCounterRegressed,
  PasskeyRefused,
  type RelyingParty,
  requestOptions,
  verifyAssertion,
} from "../../identity/passkeys.ts";
import { createSession } from "../../steps/access/createSession.ts";
import { toRefusal } from "../../steps/sign-in/bindPasskey.ts";
import { endCeremony, startCeremony } from "../../steps/sign-in/startCeremony.ts";
import { lockPerson } from "../../storage/sql/people/people.ts";
import { lockPasskey, readPasskey, recordPasskeyUse } from "../../storage/sql/sign-in/passkeys.ts";

const SIGN_IN_CEREMONY = "passkey.sign-in";

/**
 * Options for a browser to offer its passkeys of this server, without a login.
 *
 * @returns options for `navigator.credentials.get`, as JSON text
 */
export async function beginPasskeySignIn(context: Context, party: RelyingParty): Promise<string> {
  return requestOptions(party, [], await startCeremony(context, SIGN_IN_CEREMONY, null));
}

/**
 * Signs in the owner of the passkey.
 *
 * @returns the cookie value
 * @throws Problem `passkey_refused`, `invalid_credential` for a disabled account
 */
export async function signInWithPasskey(
  context: Context,
  party: RelyingParty,
  answer: BrowserCredential,
  userAgent: string,
): Promise<string> {
  try {
    return await signIn(context, party, answer, userAgent);
  } catch (error) {
    throw toRefusal(error);
  }
}

async function signIn(
  context: Context,
  party: RelyingParty,
  answer: BrowserCredential,
  userAgent: string,
): Promise<string> {
  const id = credentialIdOf(answer);
  const known = await readPasskey(context.store, id);
  if (known === undefined) throw new PasskeyRefused(UNKNOWN);
  const challenge = challengeOf(answer);
  const { counter } = await verifyAssertion(party, answer, challenge, known.publicKey);
  return context.store.transact(async (tx) => {
    // Locks the user before the passkey, in the same order as a removal.
    await lockPerson(tx, "update", known.personId);
    const passkey = await lockPasskey(tx, id);
    if (passkey?.publicKey !== known.publicKey) throw new PasskeyRefused(UNKNOWN);
    if (isCounterRegressed(passkey.counter, counter)) throw new PasskeyRefused(COPIED);
    const now = await tx.now();
    await endCeremony(tx, SIGN_IN_CEREMONY, challenge, now, { personId: null });
    await recordPasskeyUse(tx, id, counter, now);
    const { personId } = passkey;
    return createSession(tx, context, { personId, method: "passkey", userAgent });
  });
}

const UNKNOWN = "This passkey is not registered on this server. Use another way to sign in.";

const COPIED =
  "The signature counter of the passkey went backwards. The passkey may have been copied.";
