import { Problem, type ProvisionInstanceInput, uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../audit/append-audit.ts";
import type { Context } from "../context.ts";
import { defaultInstanceName, type StoredInstance } from "../core/instance.ts";
import type { ProvisionerCaller } from "../identity/caller.ts";
import { hashIdempotencyKey } from "../secrets/keyring.ts";
import { createToken, hashToken } from "../secrets/token.ts";
import { insertCredential } from "../storage/sql/credentials.ts";
import { insertResult, readResult, type StoredResult } from "../storage/sql/idempotency.ts";
import { insertInstance, lockInstance } from "../storage/sql/instances.ts";
import type { Transaction } from "../storage/store.ts";

export interface Provisioning {
  readonly outcome: "created" | "replayed";
  /** As it was created, also when it was renamed since. */
  readonly instance: Pick<StoredInstance, "id" | "name">;
  readonly token: string;
}

/**
 * Makes an instance and its credential. The same key with the same input returns the original
 * instance and credential and renews nothing.
 *
 * @throws Problem `idempotency_conflict`; `instance_deleted` on a replay after deletion
 * @see contract: Endpoints, POST /v1/instances
 */
export async function provisionInstance(
  context: Context,
  caller: ProvisionerCaller,
  input: ProvisionInstanceInput,
  idempotencyKey: string,
): Promise<Provisioning> {
  const { keyring, random } = context;
  const scope = `provision:${caller.provisionerId}`;
  const keyHash = hashIdempotencyKey(idempotencyKey);
  const fingerprint = keyring.fingerprint(input.canonical);
  return context.store.transact(async (tx) => {
    const now = await tx.now();
    const instance: StoredInstance = {
      id: uuidV7(now, random.bytes(10)),
      projectId: caller.projectId,
      provisionerId: caller.provisionerId,
      name: JSON.stringify(input.instanceName ?? defaultInstanceName(random.bytes(8))),
      createdAt: now,
      deletedAt: null,
    };
    const token = createToken("instance", random);
    const reserved = await insertResult(tx, {
      scope,
      keyHash,
      fingerprint,
      instanceId: instance.id,
      result: instance.name,
      sealedCredential: keyring.seal(token, sealedFor(instance.id)),
      createdAt: now,
    });
    if (!reserved) {
      const stored = await readResult(tx, scope, keyHash);
      return replay(tx, context, stored, fingerprint);
    }
    await insertInstance(tx, instance);
    await issueCredential(tx, context, instance, token);
    return { outcome: "created", instance, token };
  });
}

async function issueCredential(
  tx: Transaction,
  { random }: Context,
  instance: StoredInstance,
  token: string,
): Promise<void> {
  const { id: holderId, projectId, createdAt } = instance;
  const id = uuidV7(createdAt, random.bytes(10));
  await insertCredential(
    tx,
    { id, kind: "instance", holderId, projectId, createdAt, expiresAt: null, revokedAt: null },
    hashToken(token),
  );
  await appendAudit(tx, random, {
    at: createdAt,
    projectId,
    kind: "instance.provisioned",
    actor: `provisioner:${instance.provisionerId}`,
    subject: `instance:${holderId}`,
    detail: { credential_id: id },
  });
}

async function replay(
  tx: Transaction,
  { keyring }: Context,
  stored: StoredResult | undefined,
  fingerprint: string,
): Promise<Provisioning> {
  if (stored === undefined) throw new Error("a used key has no result");
  if (stored.fingerprint !== fingerprint) throw new Problem("idempotency_conflict");
  const instance = await lockInstance(tx, "share", stored.instanceId);
  if (instance === undefined || instance.deletedAt !== null) {
    throw new Problem("instance_deleted");
  }
  const token = keyring.open(stored.sealedCredential ?? "", sealedFor(stored.instanceId));
  return { outcome: "replayed", instance: { id: stored.instanceId, name: stored.result }, token };
}

function sealedFor(instanceId: string): string {
  return `instance credential ${instanceId}`;
}
