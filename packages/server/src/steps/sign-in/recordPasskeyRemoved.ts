import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { Actor } from "../../core/actor.ts";
import type { StoredPasskey } from "../../storage/sql/sign-in/passkeys.ts";
import type { Transaction } from "../../storage/store.ts";

/** Writes the audit entry of a removed passkey. */
export async function recordPasskeyRemoved(
  tx: Transaction,
  { random }: Pick<Context, "random">,
  { id, personId }: Pick<StoredPasskey, "id" | "personId">,
  actor: Actor,
): Promise<void> {
  await appendAudit(tx, random, {
    at: await tx.now(),
    projectId: "",
    kind: "passkey.removed",
    actor,
    subject: `passkey:${id}`,
    detail: { person_id: personId, credential_id: id },
  });
}
