import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { parsePassword, parseSubmittedPassword } from "../../core/password.ts";
import { isFresh } from "../../core/session.ts";
import type { SignedIn } from "../../identity/caller.ts";
import { endSessionsOf } from "../../steps/access/endSessions.ts";
import { setPassword } from "../../steps/sign-in/setPassword.ts";
import { lockPerson } from "../../storage/sql/people/people.ts";
import { deleteOpenInvitationsFor } from "../../storage/sql/sign-in/invitations.ts";
import { listSessions } from "../../storage/sql/sign-in/sessions.ts";

export interface PasswordChange {
  /** Undefined without an existing password: then the sign-in must be recent. */
  readonly current: string | undefined;
  readonly next: string;
}

/**
 * Changes or sets the password of the signed-in user. Ends all other sessions, and revokes return
 * links.
 *
 * @throws Problem `forbidden` when the current password is wrong; `invalid_request` for an invalid
 * new one; `invalid_credential` when the session has ended meanwhile
 */
export async function changePassword(
  context: Context,
  signedIn: SignedIn,
  { current, next }: PasswordChange,
): Promise<void> {
  const { person, session } = signedIn;
  const password = parsePassword(next, person.login, "new_password");
  await assertTheirs(context, signedIn, current);
  const hash = await context.passwords.hash(password);
  await context.store.transact(async (tx) => {
    const locked = await lockPerson(tx, "update", person.id);
    const sessions = await listSessions(tx, person.id);
    const isHere = sessions.some(({ id }) => id === session.id);
    if (!isHere || locked?.passwordHash !== person.passwordHash || locked.disabledAt !== null) {
      throw new Problem("invalid_credential");
    }
    await setPassword(tx, context, person.id, hash);
    const end = { by: `person:${person.id}`, because: "the password was changed" } as const;
    await endSessionsOf(tx, context, person.id, end, session.id);
    for (const { id } of await deleteOpenInvitationsFor(tx, person.id)) {
      await appendAudit(tx, context.random, {
        at: await tx.now(),
        projectId: "",
        kind: "invitation.revoked",
        actor: end.by,
        subject: `invitation:${id}`,
      });
    }
  });
}

async function assertTheirs(
  { passwords, clock }: Context,
  { person, session }: SignedIn,
  current: string | undefined,
): Promise<void> {
  if (person.passwordHash === null) {
    if (isFresh(session, clock.now())) return;
    throw new Problem("forbidden", "Sign in again before you set a password.");
  }
  const submitted = parseSubmittedPassword(current ?? "", "current_password");
  if (!(await passwords.verify(submitted, person.passwordHash))) {
    const param = "current_password";
    throw new Problem("forbidden", "The current password is wrong.", { param });
  }
}
