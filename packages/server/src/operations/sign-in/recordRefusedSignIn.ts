import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { normalizeLogin } from "../../core/login.ts";
import { readPersonByLogin } from "../../storage/sql/people/people.ts";
import type { SignInMethod } from "../../storage/sql/sign-in/sessions.ts";

/**
 * Records a failed sign-in to a known account; others are not recorded. The caller calls it after
 * the answer, because its duration would reveal known logins, and limits the rate.
 */
export async function recordRefusedSignIn(
  { store, random }: Pick<Context, "store" | "random">,
  login: string,
  method: SignInMethod,
): Promise<void> {
  const known = normalizeLogin(login);
  if (known === undefined) return;
  await store.transact(async (tx) => {
    const person = await readPersonByLogin(tx, known);
    if (person === undefined) return;
    await appendAudit(tx, random, {
      at: await tx.now(),
      projectId: "",
      kind: "signin.refused",
      actor: `person:${person.id}`,
      subject: `person:${person.id}`,
      detail: { method },
    });
  });
}
