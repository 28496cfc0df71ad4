import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { assertFresh } from "../../identity/assert-fresh.ts";
import type { SignedIn } from "../../identity/caller.ts";
import { recordPasskeyRemoved } from "../../steps/sign-in/recordPasskeyRemoved.ts";
import { lockPerson } from "../../storage/sql/people/people.ts";
import { deletePasskey, listPasskeysOf } from "../../storage/sql/sign-in/passkeys.ts";
import { CHANGE_PASSKEYS } from "./beginPasskey.ts";

/**
 * Removes a passkey. Its past signatures stay provable, but its votes on pending requests no longer
 * count.
 *
 * @throws Problem `not_found` for other users' passkeys, `forbidden` without a recent sign-in or
 * when no sign-in method would be left
 */
export async function removePasskey(
  { store, random }: Pick<Context, "store" | "random">,
  { session, person: { id: personId } }: SignedIn,
  id: string,
): Promise<void> {
  await store.transact(async (tx) => {
    // Serializes two removals, which could each rely on the other's passkey.
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
