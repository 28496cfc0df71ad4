import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { consume, type StoredConsumption } from "../../core/consumption.ts";
import { sha256Hex } from "../../core/digest.ts";
import type { StoredDecision, StoredRequest } from "../../core/request.ts";
import type { InstanceCaller } from "../../identity/caller.ts";
import { hashRequestKey } from "../../secrets/keyring.ts";
import { findFreeze } from "../../storage/sql/freezes/freezes.ts";
import { lockInstance } from "../../storage/sql/instances/instances.ts";
import { insertConsumption, readConsumption } from "../../storage/sql/requests/consumptions.ts";
import { lockRequestOfInstance } from "../../storage/sql/requests/requests.ts";
import type { Transaction } from "../../storage/store.ts";

/** A request with a used approval. */
export interface ConsumedRequest {
  readonly request: StoredRequest;
  readonly consumption: StoredConsumption;
}

/**
 * Uses an approval: exactly one key receives the permission to start, only before `expires_at`. The
 * same key receives the same answer again.
 *
 * A freeze or a deletion of the instance prevents it. The instance stays locked from the check to
 * the commit, so there is no exception after either was answered.
 *
 * @throws Problem `not_found`, also for requests of other instances; `not_approved`,
 * `already_consumed`, `approval_expired`, `calls_frozen`; `invalid_credential` when the instance
 * was deleted meanwhile
 * @see docs/reference/extensions.md
 */
export async function consumeApproval(
  context: Context,
  caller: InstanceCaller,
  id: string,
  idempotencyKey: string,
): Promise<ConsumedRequest> {
  const keyHash = hashRequestKey(caller.instanceId, idempotencyKey);
  return context.store.transact(async (tx) => {
    const instance = await lockInstance(tx, "share", caller);
    if (instance === undefined || instance.deletedAt !== null) {
      throw new Problem("invalid_credential");
    }
    const request = await lockRequestOfInstance(tx, caller, id);
    if (request === undefined) throw new Problem("not_found");
    const existing = await readConsumption(tx, request);
    const consuming = consume(request, existing, keyHash, await tx.now());
    if (consuming.kind === "refused") throw new Problem(consuming.code);
    if ((await findFreeze(tx, caller)) !== undefined) throw new Problem("calls_frozen");
    const { consumption } = consuming;
    if (consuming.kind === "consumed") await record(tx, context, request, consumption);
    return { request, consumption };
  });
}

async function record(
  tx: Transaction,
  { random }: Context,
  request: StoredRequest,
  consumption: StoredConsumption,
): Promise<void> {
  const { expiresAt } = request.decision as StoredDecision;
  await insertConsumption(tx, request, consumption);
  await appendAudit(tx, random, {
    at: consumption.consumedAt,
    projectId: request.projectId,
    kind: "approval.consumed",
    actor: `instance:${request.instanceId}`,
    subject: `request:${request.id}`,
    detail: {
      tool_sha256: sha256Hex(request.tool),
      arguments_sha256: sha256Hex(request.arguments),
      expires_at: expiresAt,
    },
  });
  // A locked table or a slow disk can take the rest of the validity.
  if (consumption.consumedAt + tx.lastsMsMax < (expiresAt ?? 0)) return;
  if ((await tx.now()) >= (expiresAt ?? 0)) throw new Problem("approval_expired");
}
