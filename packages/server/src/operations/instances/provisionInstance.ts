import {
  Problem,
  type ProvisionInstanceInput,
  uuidV7,
  type WebhookDeliveryInput,
} from "@countersign/protocol";
import type { Context } from "../../context.ts";
import {
  type AnsweredInstance,
  defaultInstanceName,
  readAnswer,
  writeAnswer,
} from "../../core/instance.ts";
import type { ProvisionerCaller } from "../../identity/caller.ts";
import { hashIdempotencyKey } from "../../secrets/keyring.ts";
import { createToken } from "../../secrets/token.ts";
import { installReceiver } from "../../steps/deliveries/installReceiver.ts";
import {
  type AcceptedVerification,
  assertNeverVerified,
  commitVerified,
  type KeyedInput,
} from "../../steps/instances/commitVerified.ts";
import { issueCredential } from "../../steps/instances/issueCredential.ts";
import {
  insertInstance,
  lockInstance,
  type NewInstance,
} from "../../storage/sql/instances/instances.ts";
import { insertResult, readResult } from "../../storage/sql/requests/idempotency.ts";
import type { Transaction } from "../../storage/store.ts";

/** An input with a refusal is only valid for a replay. */
export type MaybeRefused<T> = T & { readonly refusal?: Problem | undefined };

export interface Provisioning {
  readonly outcome: "created" | "replayed";
  /** As created, even if it was changed since. */
  readonly instance: AnsweredInstance;
  readonly token: string;
}

/**
 * Creates an instance and its credential, after the verification of its receiver, if any. The same
 * key with the same input returns the original instance and credential, without another
 * verification or renewal.
 *
 * @throws Problem `idempotency_conflict`; `instance_deleted` on a replay after deletion; with a
 * receiver as {@link commitVerified}, and the input's refusal unless it is a replay
 * @see contract: Endpoints, POST /v1/instances
 */
export async function provisionInstance(
  context: Context,
  caller: ProvisionerCaller,
  input: MaybeRefused<ProvisionInstanceInput>,
  idempotencyKey: string,
): Promise<Provisioning> {
  const { keyring, random, store } = context;
  const key = {
    projectId: caller.projectId,
    scope: `provision:${caller.provisionerId}`,
    keyHash: hashIdempotencyKey(idempotencyKey),
    fingerprint: keyring.fingerprint(input.canonical),
    renames: false,
  };
  const reserve = async (tx: Transaction) => {
    if (input.refusal !== undefined) throw input.refusal;
    return uuidV7(await tx.now(), random.bytes(10));
  };
  const commit = (tx: Transaction, { instanceId }: Pick<AcceptedVerification, "instanceId">) =>
    create(tx, context, caller, input, key, instanceId);
  const replayed = (tx: Transaction) => replay(tx, context, key);
  const { delivery } = input;
  if (delivery !== undefined) {
    const steps = { replay: replayed, reserve, commit };
    return commitVerified(context, caller, key, delivery, steps);
  }
  return store.transact(async (tx) => {
    const known = await replayed(tx);
    if (known !== undefined) return known;
    await assertNeverVerified(tx, key);
    const provisioning =
      (await commit(tx, { instanceId: await reserve(tx) })) ?? (await replayed(tx));
    if (provisioning === undefined) throw new Error("a used key has no result");
    return provisioning;
  });
}

/** @returns undefined when the key was used before */
async function create(
  tx: Transaction,
  context: Context,
  caller: ProvisionerCaller,
  { instanceName, delivery }: ProvisionInstanceInput,
  key: KeyedInput,
  id: string,
): Promise<Provisioning | undefined> {
  const { keyring, random } = context;
  const now = await tx.now();
  const instance: NewInstance = {
    id,
    projectId: caller.projectId,
    provisionerId: caller.provisionerId,
    name: JSON.stringify(instanceName ?? defaultInstanceName(random.bytes(8))),
    createdAt: now,
  };
  const answered = answer(instance, delivery);
  const token = createToken("instance", random);
  const reserved = await insertResult(tx, {
    ...key,
    instanceId: id,
    result: writeAnswer(answered),
    encryptedCredential: keyring.encrypt(token, credentialContext(id)),
    createdAt: now,
  });
  if (!reserved) return undefined;
  await insertInstance(tx, instance);
  const { projectId } = caller;
  const instanceKey = { projectId, instanceId: id };
  if (delivery !== undefined) await installReceiver(tx, context, instanceKey, delivery);
  const credential = { ...instanceKey, createdAt: now, expiresAt: null };
  await issueCredential(tx, context, credential, token, {
    kind: "instance.provisioned",
    actor: `provisioner:${caller.provisionerId}`,
    detail: delivery === undefined ? {} : { registration_id: delivery.registrationId },
  });
  return { outcome: "created", instance: answered, token };
}

function answer(
  { id, name }: NewInstance,
  delivery: WebhookDeliveryInput | undefined,
): AnsweredInstance {
  if (delivery === undefined) return { id, name, receiver: null };
  return {
    id,
    name,
    receiver: { url: delivery.url.text, registrationId: delivery.registrationId },
  };
}

async function replay(
  tx: Transaction,
  { keyring }: Context,
  key: KeyedInput,
): Promise<Provisioning | undefined> {
  const stored = await readResult(tx, key);
  if (stored === undefined) return undefined;
  if (stored.fingerprint !== key.fingerprint) throw new Problem("idempotency_conflict");
  const { instanceId } = stored;
  const instance = await lockInstance(tx, "share", stored);
  if (instance === undefined || instance.deletedAt !== null) {
    throw new Problem("instance_deleted");
  }
  const token = keyring.decrypt(stored.encryptedCredential ?? "", credentialContext(instanceId));
  return { outcome: "replayed", instance: readAnswer(instanceId, stored.result), token };
}

function credentialContext(instanceId: string): string {
  return `instance credential ${instanceId}`;
}
