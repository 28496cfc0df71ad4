import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { readPasskey } from "../../storage/sql/sign-in/passkeys.ts";

/**
 * Records a failed sign-in with a known passkey; others are not recorded. The caller calls it after
 * the answer and limits the rate.
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
