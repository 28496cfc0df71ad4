import { uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Random } from "../../clock.ts";
import type { Actor } from "../../core/actor.ts";
import { createToken as drawToken, hashToken } from "../../secrets/token.ts";
import { insertCredential, type StoredCredential } from "../../storage/sql/access/credentials.ts";
import type { Transaction } from "../../storage/store.ts";

export interface IssuedToken {
  readonly id: string;
  /** Displayed once; only its hash is stored. */
  readonly token: string;
}

/** Generates a token for a holder, with its audit entry. */
export async function writeToken(
  tx: Transaction,
  random: Random,
  order: Omit<StoredCredential, "id" | "kind" | "revokedAt"> & {
    readonly kind: "provisioner" | "reviewer";
  },
  actor: Actor,
): Promise<IssuedToken> {
  const { kind, createdAt, projectId, holderId, expiresAt, scopes } = order;
  const token = drawToken(kind, random);
  const id = uuidV7(createdAt, random.bytes(10));
  await insertCredential(tx, { ...order, id, revokedAt: null }, hashToken(token));
  await appendAudit(tx, random, {
    at: createdAt,
    projectId,
    kind: "credential.issued",
    actor,
    subject: `credential:${id}`,
    detail: {
      kind,
      holder_id: holderId,
      expires_at: expiresAt,
      scopes: scopes ?? undefined,
    },
  });
  return { id, token };
}
