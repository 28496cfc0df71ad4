/** Creates links on the server, for operators with access to its data. */

import { uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { generateOpaque } from "../../secrets/opaque.ts";
import { hashToken } from "../../secrets/token.ts";
import { insertInvitation, type StoredInvitation } from "../../storage/sql/sign-in/invitations.ts";
import type { Transaction } from "../../storage/store.ts";

const LINK_LASTS_MS = 24 * 3_600_000;

/**
 * @param replaced deleted links that this one replaces
 * @returns the token of the link
 */
export async function makeLink(
  tx: Transaction,
  { random }: Pick<Context, "random">,
  who: Pick<StoredInvitation, "projectId" | "personId" | "name" | "role" | "createdBy">,
  replaced: readonly StoredInvitation[],
): Promise<string> {
  const now = await tx.now();
  await recordRevoked(tx, { random }, replaced, now);
  const token = generateOpaque(random);
  const id = uuidV7(now, random.bytes(10));
  const expiresAt = now + LINK_LASTS_MS;
  const invitation = { ...who, id, groups: [], createdAt: now, expiresAt, usedAt: null };
  await insertInvitation(tx, invitation, hashToken(token));
  await appendAudit(tx, random, {
    at: now,
    projectId: who.projectId,
    kind: "invitation.made",
    actor: who.createdBy,
    subject: `invitation:${id}`,
    detail: {
      role: who.personId === null ? who.role : undefined,
      person_id: who.personId ?? undefined,
      expires_at: expiresAt,
    },
  });
  return token;
}

async function recordRevoked(
  tx: Transaction,
  { random }: Pick<Context, "random">,
  revoked: readonly StoredInvitation[],
  now: number,
): Promise<void> {
  for (const { id, projectId, createdBy } of revoked) {
    await appendAudit(tx, random, {
      at: now,
      projectId,
      kind: "invitation.revoked",
      actor: createdBy,
      subject: `invitation:${id}`,
    });
  }
}
