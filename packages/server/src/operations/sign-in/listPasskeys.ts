import type { Context } from "../../context.ts";
import type { SignedIn } from "../../identity/caller.ts";
import { listPasskeysOf, type StoredPasskey } from "../../storage/sql/sign-in/passkeys.ts";

/** The passkeys of the signed-in user, oldest first. */
export function listPasskeys(
  { store }: Pick<Context, "store">,
  { person }: SignedIn,
): Promise<StoredPasskey[]> {
  return listPasskeysOf(store, person.id);
}
