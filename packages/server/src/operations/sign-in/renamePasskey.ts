import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { SignedIn } from "../../identity/caller.ts";
import {
  lockPasskey,
  renamePasskeyRow,
  type StoredPasskey,
} from "../../storage/sql/sign-in/passkeys.ts";

/**
 * Changes the display name of a passkey; it has no other use.
 *
 * @throws Problem `not_found` for other users' passkeys
 */
export async function renamePasskey(
  { store }: Pick<Context, "store">,
  { person }: SignedIn,
  id: string,
  name: string,
): Promise<StoredPasskey> {
  return store.transact(async (tx) => {
    const passkey = await lockPasskey(tx, id);
    if (passkey?.personId !== person.id) throw new Problem("not_found");
    await renamePasskeyRow(tx, id, name);
    return { ...passkey, name };
  });
}
