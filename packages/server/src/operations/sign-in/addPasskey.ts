import type { Context } from "../../context.ts";
import { assertFresh } from "../../identity/assert-fresh.ts";
import type { SignedIn } from "../../identity/caller.ts";
import type { BrowserCredential, RelyingParty } from "../../identity/passkeys.ts";
import { verifyNew, writePasskey } from "../../steps/sign-in/bindPasskey.ts";
import { ADD_CEREMONY, endCeremony } from "../../steps/sign-in/startCeremony.ts";
import { lockPerson } from "../../storage/sql/people/people.ts";
import { listPasskeysOf, type StoredPasskey } from "../../storage/sql/sign-in/passkeys.ts";
import { assertPasskeyLimit, CHANGE_PASSKEYS } from "./beginPasskey.ts";

/**
 * Adds a passkey for a user with a recent sign-in.
 *
 * @param name display name that the owner chose
 * @throws Problem `passkey_refused` when the response is not for a challenge of this user,
 * `forbidden` without a recent sign-in or with too many passkeys
 */
export async function addPasskey(
  context: Context,
  party: RelyingParty,
  { session, person }: SignedIn,
  answer: BrowserCredential,
  name: string,
): Promise<StoredPasskey> {
  const { credential, challenge } = await verifyNew(party, answer);
  return context.store.transact(async (tx) => {
    await lockPerson(tx, "update", person.id);
    const now = await tx.now();
    assertFresh(session, now, CHANGE_PASSKEYS);
    await endCeremony(tx, ADD_CEREMONY, challenge, now, { personId: person.id });
    assertPasskeyLimit((await listPasskeysOf(tx, person.id)).length);
    return writePasskey(tx, context, person.id, credential, name, now);
  });
}
