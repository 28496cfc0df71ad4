import { appendAudit } from "../audit/append-audit.ts";
import type { Context } from "../context.ts";
import { type Ending, type Resolution, resolve, type StoredRequest } from "../core/request.ts";
import { sha256Hex } from "../secrets/keyring.ts";
import { updateDecision } from "../storage/sql/requests.ts";
import type { Transaction } from "../storage/store.ts";

/**
 * Ends approval requests: the only function that does. Every path to a terminal status (verdict,
 * deadline, cancellation, instance deletion) comes through here, so that the decision and its
 * audit entry are written in one transaction or not at all.
 *
 * The caller signals `wake` after the commit.
 *
 * @param request as read by a `lock` of this transaction; the clock is read after it
 * @see contract: States and transitions
 */
export async function resolveRequest(
  tx: Transaction,
  { random }: Pick<Context, "random">,
  request: StoredRequest,
  ending: Ending,
): Promise<Resolution> {
  const now = await tx.now();
  const resolution = resolve(request, ending, now);
  if (resolution.kind !== "resolved") return resolution;
  const { decision } = resolution;
  await updateDecision(tx, request, decision);
  await appendAudit(tx, random, {
    at: decision.decidedAt,
    projectId: request.projectId,
    kind: "request.resolved",
    actor: decision.decidedBy,
    subject: `request:${request.id}`,
    detail: {
      status: decision.status,
      arguments_sha256: sha256Hex(request.arguments),
      expires_at: decision.expiresAt,
      note_sha256: decision.note === null ? null : sha256Hex(decision.note),
    },
  });
  return resolution;
}
