import { uuidV7 } from "@countersign/protocol";
import { type AuditEntry, appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { hashToken } from "../../secrets/token.ts";
import { insertCredential } from "../../storage/sql/access/credentials.ts";
import type { Transaction } from "../../storage/store.ts";

export interface CredentialOrder {
  readonly instanceId: string;
  readonly projectId: string;
  readonly createdAt: number;
  /** Null: valid until it is revoked. */
  readonly expiresAt: number | null;
}

/**
 * Creates a credential of an instance, with an audit entry that has its id.
 *
 * @param token the credential; only its hash is stored
 */
export async function issueCredential(
  tx: Transaction,
  { random }: Pick<Context, "random">,
  { instanceId, projectId, createdAt, expiresAt }: CredentialOrder,
  token: string,
  { kind, actor, detail }: Pick<AuditEntry, "kind" | "actor" | "detail">,
): Promise<void> {
  const id = uuidV7(createdAt, random.bytes(10));
  await insertCredential(
    tx,
    {
      id,
      kind: "instance",
      holderId: instanceId,
      projectId,
      createdAt,
      expiresAt,
      revokedAt: null,
      scopes: null,
    },
    hashToken(token),
  );
  await appendAudit(tx, random, {
    at: createdAt,
    projectId,
    kind,
    actor,
    subject: `instance:${instanceId}`,
    detail: { credential_id: id, ...detail },
  });
}
