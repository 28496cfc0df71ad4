import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { type StoredGrant, stateOf } from "../../core/grant.ts";
import { markRevoked } from "../../storage/sql/grants/grants.ts";
import type { Transaction } from "../../storage/store.ts";

/**
 * Revokes a grant that this transaction has locked, for the reviewer. A grant that is already over
 * is unchanged.
 */
export async function revokeLocked(
  tx: Transaction,
  { random }: Pick<Context, "random">,
  grant: StoredGrant,
  reviewerId: string,
): Promise<StoredGrant> {
  const revokedAt = await tx.now();
  if (stateOf(grant, revokedAt) !== "active") return grant;
  const revokedBy = `reviewer:${reviewerId}` as const;
  await markRevoked(tx, grant, revokedAt, revokedBy);
  await appendAudit(tx, random, {
    at: revokedAt,
    projectId: grant.projectId,
    kind: "grant.revoked",
    actor: revokedBy,
    subject: `grant:${grant.id}`,
    detail: { calls: grant.calls },
  });
  return { ...grant, revokedAt, revokedBy };
}
