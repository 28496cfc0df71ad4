import { uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { createToken as drawToken, hashToken } from "../../secrets/token.ts";
import type { IssuedToken } from "../../steps/tokens/writeToken.ts";
import { insertScimToken } from "../../storage/sql/scim/scim-tokens.ts";

export interface ScimTokenOrder {
  /** For the operator. */
  readonly name: string;
  /** Epoch ms; null never expires. */
  readonly expiresAt: number | null;
}

/**
 * Issues a token for an identity provider. It can manage the users of the whole server, so only
 * operators on the server can create it.
 */
export async function createScimToken(
  { store, random }: Pick<Context, "store" | "random">,
  { name, expiresAt }: ScimTokenOrder,
): Promise<IssuedToken> {
  return store.transact(async (tx) => {
    const createdAt = await tx.now();
    const token = drawToken("scim", random);
    const id = uuidV7(createdAt, random.bytes(10));
    const stored = { id, name, createdAt, expiresAt, revokedAt: null };
    await insertScimToken(tx, stored, hashToken(token));
    await appendAudit(tx, random, {
      at: createdAt,
      projectId: "",
      kind: "credential.issued",
      actor: "operator:cli",
      subject: `credential:${id}`,
      detail: { kind: "scim", name, expires_at: expiresAt },
    });
    return { id, token };
  });
}
