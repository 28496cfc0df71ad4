import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { assertFresh } from "../../identity/assert-fresh.ts";
import type { SignedIn } from "../../identity/caller.ts";
import { recordPasskeyRemoved } from "../../steps/sign-in/recordPasskeyRemoved.ts";
import { lockPerson } from "../../storage/sql/people/people.ts";
import { deletePasskey, listPasskeysOf } from "../../storage/sql/sign-in/passkeys.ts";
import { CHANGE_PASSKEYS } from "./beginPasskey.ts";

/**
 * Takes a passkey from its owner. What it signed stays proven; approvals that still wait for
 * others and were signed with it do not count any more.
 *
 * @throws Problem `not_found` when it is none of theirs, `forbidden` when the sign-in is not fresh
 *   or nothing would be left to sign in with
 */
export async function removePasskey(
  { store, random }: Pick<Context, "store" | "random">,
  { session, person: { id: personId } }: SignedIn,
  id: string,
): Promise<void> {
  await store.transact(async (tx) => {
    // Two removals at once would each leave the other's.
    const person = await lockPerson(tx, "update", personId);
    const now = await tx.now();
    assertFresh(session, now, CHANGE_PASSKEYS);
    const passkeys = await listPasskeysOf(tx, personId);
    const passkey = passkeys.find((one) => one.id === id);
    if (person === undefined || passkey === undefined) throw new Problem("not_found");
    const hasOther = person.passwordHash !== null || person.oidcSubject !== null;
    if (passkeys.length === 1 && !hasOther) {
      const message = "This passkey is your only way to sign in. Add another one first.";
      throw new Problem("forbidden", message);
    }
    await deletePasskey(tx, id);
    await recordPasskeyRemoved(tx, { random }, { id, personId }, `person:${personId}`);
  });
}
