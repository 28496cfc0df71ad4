import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { readPasskey } from "../../storage/sql/sign-in/passkeys.ts";

/**
 * Writes down that somebody failed to sign in with a passkey that is known; of others nothing is
 * kept. To be called when the refusal was answered, and not too often.
 */
export async function recordRefusedPasskey(
  { store, random }: Pick<Context, "store" | "random">,
  credentialId: string,
): Promise<void> {
  await store.transact(async (tx) => {
    const passkey = await readPasskey(tx, credentialId);
    if (passkey === undefined) return;
    const person = `person:${passkey.personId}` as const;
    await appendAudit(tx, random, {
      at: await tx.now(),
      projectId: "",
      kind: "signin.refused",
      actor: person,
      subject: person,
      detail: { method: "passkey", credential_id: credentialId },
    });
  });
}
