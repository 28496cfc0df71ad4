import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { unknownToken } from "../../core/not-found.ts";
import { lockCredential, revokeCredential } from "../../storage/sql/access/credentials.ts";

/**
 * Revokes a token at once, for every replica. Repeating it changes nothing.
 *
 * @param id of the credential, from `tokens list`
 * @throws Problem `not_found`
 */
export async function revokeToken(context: Context, id: string): Promise<void> {
  await context.store.transact(async (tx) => {
    const credential = await lockCredential(tx, "update", id);
    if (credential === undefined) throw unknownToken(id);
    if (credential.revokedAt !== null) return;
    const now = await tx.now();
    await revokeCredential(tx, id, now);
    await appendAudit(tx, context.random, {
      at: now,
      projectId: credential.projectId,
      kind: "credential.revoked",
      actor: "operator:cli",
      subject: `credential:${id}`,
    });
  });
}
