import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { normalizeLogin } from "../../core/login.ts";
import { readPersonByLogin } from "../../storage/sql/people/people.ts";
import type { SignInMethod } from "../../storage/sql/sign-in/sessions.ts";

/**
 * Writes down that somebody failed to sign in as a person who is known; of others nothing is kept.
 * To be called after the refusal was answered, which would tell by its time who is known, and for
 * one person not too often.
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
