import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { normalizeLogin } from "../../core/login.ts";
import { parseSubmittedPassword } from "../../core/password.ts";
import { assertMethod, beginSession } from "../../steps/access/beginSession.ts";
import { lockPerson, readPersonByLogin } from "../../storage/sql/people/people.ts";

export interface PasswordSignIn {
  readonly login: string;
  readonly password: string;
  readonly userAgent: string;
}

/**
 * Signs in with login and password. An unknown login, a person without a password or disabled, and
 * a wrong password take the same work and are one and the same answer.
 *
 * @returns what the cookie holds
 * @throws Problem `invalid_credential`; `forbidden` where people sign in at an identity provider
 */
export async function signInWithPassword(
  context: Context,
  { login, password, userAgent }: PasswordSignIn,
): Promise<string> {
  const { store, passwords } = context;
  const submitted = parseSubmittedPassword(password);
  const known = normalizeLogin(login);
  assertMethod(context.settings.oidc, "password", known);
  const person = known === undefined ? undefined : await readPersonByLogin(store, known);
  const isRight = await passwords.verify(submitted, person?.passwordHash ?? null);
  if (person === undefined || !isRight || person.disabledAt !== null) throw WRONG;
  return store.transact(async (tx) => {
    const current = await lockPerson(tx, "update", person.id);
    // Changed while it was compared: then it is the old one.
    if (current?.passwordHash !== person.passwordHash) throw WRONG;
    return beginSession(tx, context, { personId: person.id, method: "password", userAgent });
  });
}

const WRONG = new Problem("invalid_credential", "The login or the password is wrong.");
