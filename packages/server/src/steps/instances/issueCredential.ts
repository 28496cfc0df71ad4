import { uuidV7 } from "@countersign/protocol";
import { type AuditEntry, appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { hashToken } from "../../secrets/token.ts";
import { insertCredential } from "../../storage/sql/access/credentials.ts";
import type { NewInstance } from "../../storage/sql/instances/instances.ts";
import type { Transaction } from "../../storage/store.ts";

/**
 * Creates the credential of a new instance, with audit entries for both.
 *
 * @param token the credential; only its hash is stored
 */
export async function issueCredential(
  tx: Transaction,
  { random }: Pick<Context, "random">,
  { id: holderId, projectId, createdAt }: NewInstance,
  token: string,
  { actor, detail }: Pick<AuditEntry, "actor" | "detail">,
): Promise<void> {
  const id = uuidV7(createdAt, random.bytes(10));
  await insertCredential(
    tx,
    {
      id,
      kind: "instance",
      holderId,
      projectId,
      createdAt,
      expiresAt: null,
      revokedAt: null,
      scopes: null,
    },
    hashToken(token),
  );
  await appendAudit(tx, random, {
    at: createdAt,
    projectId,
    kind: "instance.provisioned",
    actor,
    subject: `instance:${holderId}`,
    detail: { credential_id: id, ...detail },
  });
}
