import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { normalizeLogin } from "../../core/login.ts";
import { parseSubmittedPassword } from "../../core/password.ts";
import { assertMethod, createSession } from "../../steps/access/createSession.ts";
import { lockPerson, readPersonByLogin } from "../../storage/sql/people/people.ts";

export interface PasswordSignIn {
  readonly login: string;
  readonly password: string;
  readonly userAgent: string;
}

/**
 * Signs in with login and password. An unknown login, a user without a password, a disabled user
 * and a wrong password take the same time and have the same answer.
 *
 * @returns the cookie value
 * @throws Problem `invalid_credential`; `forbidden` when users must sign in at an identity provider
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
    // Changed during the comparison, so the submitted password is the old one.
    if (current?.passwordHash !== person.passwordHash) throw WRONG;
    return createSession(tx, context, { personId: person.id, method: "password", userAgent });
  });
}

const WRONG = new Problem("invalid_credential", "The login or the password is wrong.");
