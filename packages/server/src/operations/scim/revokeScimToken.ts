import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { unknownToken } from "../../core/not-found.ts";
import { lockScimToken, revokeScimTokenRow } from "../../storage/sql/scim/scim-tokens.ts";

/**
 * Revokes a token of an identity provider at once. Its users stay as they are. Repeating it changes
 * nothing.
 *
 * @throws Problem `not_found`
 */
export async function revokeScimToken(
  { store, random }: Pick<Context, "store" | "random">,
  id: string,
): Promise<void> {
  await store.transact(async (tx) => {
    const token = await lockScimToken(tx, "update", id);
    if (token === undefined) throw unknownToken(id);
    if (token.revokedAt !== null) return;
    const now = await tx.now();
    await revokeScimTokenRow(tx, id, now);
    await appendAudit(tx, random, {
      at: now,
      projectId: "",
      kind: "credential.revoked",
      actor: "operator:cli",
      subject: `credential:${id}`,
    });
  });
}
