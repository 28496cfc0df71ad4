import { Problem, type UpdateInstanceInput } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import {
  type AnsweredInstance,
  readAnswer,
  type StoredInstance,
  writeAnswer,
} from "../../core/instance.ts";
import type { ProvisionerCaller } from "../../identity/caller.ts";
import { hashIdempotencyKey } from "../../secrets/keyring.ts";
import { finishDeliveryEnd } from "../../steps/deliveries/finishDeliveryEnd.ts";
import { installReceiver } from "../../steps/deliveries/installReceiver.ts";
import {
  type AcceptedVerification,
  assertNeverVerified,
  commitVerified,
  type KeyedInput,
} from "../../steps/instances/commitVerified.ts";
import { readDeliveryState, removeReceiver } from "../../storage/sql/deliveries/receivers.ts";
import { lockInstance, renameInstance } from "../../storage/sql/instances/instances.ts";
import {
  type AcceptedUpdate,
  supersedeVerifications,
} from "../../storage/sql/instances/verifications.ts";
import type { InstanceKey } from "../../storage/sql/keys.ts";
import { insertResult, readResult } from "../../storage/sql/requests/idempotency.ts";
import type { Transaction } from "../../storage/store.ts";
import type { MaybeRefused } from "./provisionInstance.ts";

/**
 * Changes an instance's name, its receiver or both, after the verification of a new receiver. The
 * same key with the same input returns the first answer without verifying or changing anything. A
 * deletion during the verification wins, and so does a later update of the same fields.
 *
 * @throws Problem `not_found` (also for a replay after the deletion), `idempotency_conflict`; with
 * a receiver as {@link commitVerified}
 * @see contract: Endpoints, PATCH /v1/instances/{id}
 */
export async function updateInstance(
  context: Context,
  caller: ProvisionerCaller,
  id: string,
  input: MaybeRefused<UpdateInstanceInput>,
  idempotencyKey: string,
): Promise<AnsweredInstance> {
  const { projectId } = caller;
  const instance = { projectId, instanceId: id };
  const key = {
    projectId,
    scope: `update:${caller.provisionerId}:${id}`,
    keyHash: hashIdempotencyKey(idempotencyKey),
    fingerprint: context.keyring.fingerprint(input.canonical),
    renames: input.instanceName !== undefined,
  };
  const replayed = async (tx: Transaction) => {
    await lockOwn(tx, instance);
    return replay(tx, key);
  };
  const commit = async (
    tx: Transaction,
    { acceptedAt }: Pick<AcceptedVerification, "acceptedAt">,
  ) => {
    const accepted = { ...key, ...instance, acceptedAt, redirects: input.delivery !== undefined };
    const updated = await apply(tx, context, caller, input, accepted);
    // A replay must not accelerate the retries to a failing receiver.
    if (updated !== undefined && input.delivery) {
      tx.onCommit(() => context.wake.signal({ kind: "retryRequested", ...instance }));
    }
    return updated;
  };
  const { delivery } = input;
  if (delivery) {
    const reserve = async () => {
      if (input.refusal !== undefined) throw input.refusal;
      return id;
    };
    const steps = { replay: replayed, reserve, commit };
    return commitVerified(context, caller, key, delivery, steps);
  }
  const answered = await context.store.transact(async (tx) => {
    if (delivery === null) {
      tx.onCommit(() => context.wake.signal({ kind: "removed", instanceId: id }));
    }
    const known = await replayed(tx);
    if (known !== undefined) return known;
    await assertNeverVerified(tx, key);
    const updated = await commit(tx, { acceptedAt: await tx.now() });
    if (updated === undefined) throw new Error("a used key has no result");
    return updated;
  });
  if (delivery === null) await finishDeliveryEnd(context, instance);
  return answered;
}

/** @throws Problem `not_found` unless it is an active instance of that project */
async function lockOwn(tx: Transaction, key: InstanceKey): Promise<StoredInstance> {
  const instance = await lockInstance(tx, "update", key);
  if (instance === undefined || instance.deletedAt !== null) throw new Problem("not_found");
  return instance;
}

async function replay(tx: Transaction, key: KeyedInput): Promise<AnsweredInstance | undefined> {
  const stored = await readResult(tx, key);
  if (stored === undefined) return undefined;
  if (stored.fingerprint !== key.fingerprint) throw new Problem("idempotency_conflict");
  return readAnswer(stored.instanceId, stored.result);
}

/** @returns undefined when the key was used before */
async function apply(
  tx: Transaction,
  context: Context,
  caller: ProvisionerCaller,
  input: UpdateInstanceInput,
  accepted: KeyedInput & AcceptedUpdate,
): Promise<AnsweredInstance | undefined> {
  const { projectId, instanceId } = accepted;
  const instanceKey = { projectId, instanceId };
  const instance = await lockOwn(tx, instanceKey);
  const answered = await changed(tx, instance, input);
  const now = await tx.now();
  const applied = await insertResult(tx, {
    ...accepted,
    result: writeAnswer(answered),
    encryptedCredential: null,
    createdAt: now,
  });
  if (!applied) return undefined;
  await supersedeVerifications(tx, accepted, now);
  await renameInstance(tx, instanceKey, answered.name);
  if (input.delivery === null) await removeReceiver(tx, instanceKey);
  else if (input.delivery) await installReceiver(tx, context, instanceKey, input.delivery);
  await appendAudit(tx, context.random, {
    at: now,
    projectId,
    kind: "instance.updated",
    actor: `provisioner:${caller.provisionerId}`,
    subject: `instance:${instanceId}`,
    ...(input.delivery === undefined
      ? {}
      : { detail: { registration_id: answered.receiver?.registrationId ?? null } }),
  });
  return answered;
}

/** The instance after the change. */
async function changed(
  tx: Transaction,
  { projectId, id, name }: StoredInstance,
  { instanceName, delivery }: UpdateInstanceInput,
): Promise<AnsweredInstance> {
  const renamed = instanceName === undefined ? name : JSON.stringify(instanceName);
  if (delivery === undefined) {
    const state = await readDeliveryState(tx, { projectId, instanceId: id });
    return { id, name: renamed, receiver: state?.receiver ?? null };
  }
  if (delivery === null) return { id, name: renamed, receiver: null };
  const { url, registrationId } = delivery;
  return { id, name: renamed, receiver: { url: url.text, registrationId } };
}
