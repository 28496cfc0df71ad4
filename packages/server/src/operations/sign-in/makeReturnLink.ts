import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { normalizeLogin } from "../../core/login.ts";
import { unknownLogin } from "../../core/not-found.ts";
import { makeLink } from "../../steps/sign-in/makeLink.ts";
import { recordPasskeyRemoved } from "../../steps/sign-in/recordPasskeyRemoved.ts";
import { lockPerson, readPersonByLogin } from "../../storage/sql/people/people.ts";
import { deleteOpenInvitationsFor } from "../../storage/sql/sign-in/invitations.ts";
import { deletePasskey, listPasskeysOf } from "../../storage/sql/sign-in/passkeys.ts";
import type { Transaction } from "../../storage/store.ts";

/**
 * Creates a return link for a user who lost their credentials, and revokes earlier ones.
 *
 * @param forgetsPasskeys true removes the user's passkeys now, because they may be stolen
 * @returns the token of the link
 * @throws Problem `not_found`; `forbidden` for a disabled account
 */
export async function makeReturnLink(
  { store, random }: Pick<Context, "store" | "random">,
  login: string,
  forgetsPasskeys = false,
): Promise<string> {
  return store.transact(async (tx) => {
    const person = await readPersonByLogin(tx, normalizeLogin(login) ?? "");
    if (person === undefined) throw unknownLogin(login);
    if (person.disabledAt !== null) throw new Problem("forbidden", "This account is disabled.");
    if (forgetsPasskeys) await forgetPasskeys(tx, { random }, person.id);
    const replaced = await deleteOpenInvitationsFor(tx, person.id);
    const { id: personId, name } = person;
    const createdBy = "operator:cli";
    // It creates no reviewer. The role is only set because the column is required.
    const who = { projectId: "", personId, name, role: "viewer", createdBy } as const;
    return makeLink(tx, { random }, who, replaced);
  });
}

async function forgetPasskeys(
  tx: Transaction,
  { random }: Pick<Context, "random">,
  personId: string,
): Promise<void> {
  // The same lock as adding or using a passkey.
  await lockPerson(tx, "update", personId);
  for (const { id } of await listPasskeysOf(tx, personId)) {
    await deletePasskey(tx, id);
    await recordPasskeyRemoved(tx, { random }, { id, personId }, "operator:cli");
  }
}
