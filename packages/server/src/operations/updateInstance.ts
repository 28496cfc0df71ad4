import { Problem, type UpdateInstanceInput } from "@countersign/protocol";
import { appendAudit } from "../audit/append-audit.ts";
import type { Context } from "../context.ts";
import type { StoredInstance } from "../core/instance.ts";
import type { ProvisionerCaller } from "../identity/caller.ts";
import { hashIdempotencyKey } from "../secrets/keyring.ts";
import { insertResult, readResult } from "../storage/sql/idempotency.ts";
import { lockInstance, renameInstance } from "../storage/sql/instances.ts";

/**
 * Changes an instance's name. The same key with the same input answers what was answered the
 * first time and applies nothing again.
 *
 * @throws Problem `not_found` (also for a replay against a deleted instance),
 *   `idempotency_conflict`
 * @see contract: Endpoints, PATCH /v1/instances/{id}
 */
export async function updateInstance(
  context: Context,
  caller: ProvisionerCaller,
  id: string,
  input: UpdateInstanceInput,
  idempotencyKey: string,
): Promise<Pick<StoredInstance, "id" | "name">> {
  const { keyring, random } = context;
  const scope = `update:${caller.provisionerId}:${id}`;
  const keyHash = hashIdempotencyKey(idempotencyKey);
  const fingerprint = keyring.fingerprint(input.canonical);
  return context.store.transact(async (tx) => {
    const instance = await lockInstance(tx, "update", id);
    if (instance?.projectId !== caller.projectId || instance.deletedAt !== null) {
      throw new Problem("not_found");
    }
    const name =
      input.instanceName === undefined ? instance.name : JSON.stringify(input.instanceName);
    const now = await tx.now();
    const applied = await insertResult(tx, {
      scope,
      keyHash,
      fingerprint,
      instanceId: id,
      result: name,
      sealedCredential: null,
      createdAt: now,
    });
    if (!applied) {
      const stored = await readResult(tx, scope, keyHash);
      if (stored?.fingerprint !== fingerprint) throw new Problem("idempotency_conflict");
      return { id, name: stored.result };
    }
    await renameInstance(tx, id, name);
    await appendAudit(tx, random, {
      at: now,
      projectId: instance.projectId,
      kind: "instance.updated",
      actor: `provisioner:${caller.provisionerId}`,
      subject: `instance:${id}`,
    });
    return { id, name };
  });
}
