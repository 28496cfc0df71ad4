import { Problem } from "@countersign/protocol";
import { appendAudit } from "../audit/append-audit.ts";
import type { Context } from "../context.ts";
import type { ProvisionerCaller } from "../identity/caller.ts";
import { revokeCredentialsOf } from "../storage/sql/credentials.ts";
import { lockInstance, markInstanceDeleted } from "../storage/sql/instances.ts";
import { lockRequest, readPendingIdsOfInstance } from "../storage/sql/requests.ts";
import type { Transaction } from "../storage/store.ts";
import { resolveRequest } from "./resolveRequest.ts";

/**
 * Deletes an instance for good: its credentials are revoked and its pending requests cancelled
 * in the same transaction. Repeating it changes nothing.
 *
 * @throws Problem `not_found` for unknown and other projects' instances
 * @see contract: Endpoints, DELETE /v1/instances/{id}
 */
export async function deleteInstance(
  context: Context,
  caller: ProvisionerCaller,
  id: string,
): Promise<void> {
  const ended = await context.store.transact(async (tx) => {
    const instance = await lockInstance(tx, "update", id);
    if (instance?.projectId !== caller.projectId) throw new Problem("not_found");
    if (instance.deletedAt !== null) return [];
    const now = await tx.now();
    await markInstanceDeleted(tx, id, now);
    const revoked = await revokeCredentialsOf(tx, id, now);
    const cancelled = await cancelPending(tx, context, id);
    await appendAudit(tx, context.random, {
      at: now,
      projectId: instance.projectId,
      kind: "instance.deleted",
      actor: `provisioner:${caller.provisionerId}`,
      subject: `instance:${id}`,
      detail: { credentials_revoked: revoked, requests_ended: cancelled.length },
    });
    return cancelled;
  });
  for (const requestId of ended) context.wake.signal({ kind: "resolved", requestId });
}

/** Requests whose deadline has passed unnoticed end as expired, all others as cancelled. */
async function cancelPending(
  tx: Transaction,
  context: Context,
  instanceId: string,
): Promise<string[]> {
  const pending = await readPendingIdsOfInstance(tx, instanceId);
  for (const id of pending) {
    const request = await lockRequest(tx, id);
    if (request === undefined) continue;
    const by = "system:instance-deletion";
    await resolveRequest(tx, context, request, { status: "cancelled", by });
  }
  return pending;
}
