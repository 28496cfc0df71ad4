import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { normalizeLogin } from "../../core/login.ts";
import { unknownLogin } from "../../core/not-found.ts";
import { endSessionsOf } from "../../steps/access/endSessions.ts";
import {
  lockPerson,
  readPersonByLogin,
  updateDisabledAt,
} from "../../storage/sql/people/people.ts";

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
    if ((person.disabledAt !== null) === isDisabled) return;
    const now = await tx.now();
    const disabledAt = isDisabled ? now : null;
    await updateDisabledAt(tx, person.id, disabledAt);
    await appendAudit(tx, random, {
      at: now,
      projectId: "",
      kind: "person.updated",
      actor: "operator:cli",
      subject: `person:${person.id}`,
      detail: { disabled_at: disabledAt },
    });
    const end = { by: "operator:cli", because: "disabled" } as const;
    if (isDisabled) await endSessionsOf(tx, { random }, person.id, end);
  });
}
