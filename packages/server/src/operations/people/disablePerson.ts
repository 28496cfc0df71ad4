import type { Context } from "../../context.ts";
import { normalizeLogin } from "../../core/login.ts";
import { unknownLogin } from "../../core/not-found.ts";
import { writeAccess } from "../../steps/people/writeAccess.ts";
import { lockPerson, readPersonByLogin } from "../../storage/sql/people/people.ts";

export interface PersonAccess {
  readonly login: string;
  readonly isDisabled: boolean;
}

/**
 * Disables or enables a user. A disabled user cannot sign in; their sessions end, their tokens are
 * rejected, and their votes and grants do not count. Earlier decisions stay unchanged. For
 * operators on the server. Repeating it changes nothing.
 *
 * @throws Problem `not_found` when no account has the login
 */
export async function disablePerson(
  { store, random }: Pick<Context, "store" | "random">,
  { login, isDisabled }: PersonAccess,
): Promise<void> {
  await store.transact(async (tx) => {
    const found = await readPersonByLogin(tx, normalizeLogin(login) ?? "");
    const person = found && (await lockPerson(tx, "update", found.id));
    if (person === undefined) throw unknownLogin(login);
    await writeAccess(tx, { random }, person, isDisabled, "operator:cli");
  });
}
