/** Accepts an invitation, as a new user or as a signed-in user. */

import type { Context } from "../../context.ts";
import { parseLogin, parsePersonName } from "../../core/login.ts";
import { parsePassword } from "../../core/password.ts";
import type { SignedIn } from "../../identity/caller.ts";
import { createSession } from "../../steps/access/createSession.ts";
import { setPassword } from "../../steps/sign-in/setPassword.ts";
import { useInvitation } from "../../steps/sign-in/useInvitation.ts";
import { moveSession } from "../../storage/sql/sign-in/sessions.ts";
import { openInvitation } from "./openInvitation.ts";

export interface Acceptance {
  readonly token: string;
  /** Login of a new user. */
  readonly login: string | undefined;
  readonly name: string | undefined;
  readonly password: string;
  readonly userAgent: string;
}

/**
 * Uses a link with a password, and signs in.
 *
 * @returns the cookie value
 * @throws Problem as useInvitation; `invalid_request` for an invalid password
 */
export async function acceptInvitation(
  context: Context,
  { token, login, name, password, userAgent }: Acceptance,
): Promise<string> {
  const opened = await openInvitation(context, token);
  const own = opened.login ?? parseLogin(login ?? "");
  if (opened.login === null) parsePersonName(name ?? opened.name);
  const hash = await context.passwords.hash(parsePassword(password, own));
  return context.store.transact(async (tx) => {
    const use = { token, login: own, name };
    const { person, projectId } = await useInvitation(tx, context, use, (_, { id }) =>
      setPassword(tx, context, id, hash),
    );
    return createSession(tx, context, {
      personId: person.id,
      method: "password",
      userAgent,
      projectId,
    });
  });
}

/**
 * Makes a signed-in user a reviewer of another project, and selects that project.
 *
 * @throws Problem as useInvitation
 */
export async function joinProject(
  context: Context,
  { person, session }: SignedIn,
  token: string,
): Promise<void> {
  const opened = await openInvitation(context, token);
  // A signed-in user needs no return link and keeps all sessions.
  if (opened.kind === "return") return;
  await context.store.transact(async (tx) => {
    const use = { token, personId: person.id };
    const { projectId } = await useInvitation(tx, context, use, async () => {});
    if (projectId !== undefined) await moveSession(tx, person.id, session.id, projectId);
  });
}
