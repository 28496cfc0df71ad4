import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ProvisionerCaller, ReviewerCaller } from "../../identity/caller.ts";
import { currentCaller } from "../../steps/access/currentCaller.ts";
import { finishDeliveryEnd } from "../../steps/deliveries/finishDeliveryEnd.ts";
import { cancelPending, finishDeletion } from "../../steps/instances/finishDeletion.ts";
import { revokeCredentialsOf } from "../../storage/sql/access/credentials.ts";
import { removeReceiver } from "../../storage/sql/deliveries/receivers.ts";
import { lockInstance, markInstanceDeleted } from "../../storage/sql/instances/instances.ts";
import type { InstanceKey } from "../../storage/sql/keys.ts";
import type { Transaction } from "../../storage/store.ts";

/**
 * Deletes an instance for good: its credentials are revoked, all delivery is ended and its
 * pending requests are cancelled in the same transaction, without a notification. Of very many
 * pending requests the rest is cancelled in further transactions, all before the answer. From the
 * first transaction on nothing new can be opened, and `resolveRequest` cancels every request that
 * is still pending, whatever it was asked for. Repeating it changes nothing.
 *
 * @throws Problem `not_found` for unknown and other projects' instances; `forbidden` for a reviewer
 *   who may not
 * @see contract: Endpoints, DELETE /v1/instances/{id}
 */
export async function deleteInstance(
  context: Context,
  caller: ProvisionerCaller | ReviewerCaller,
  id: string,
): Promise<void> {
  if (caller.kind === "reviewer") assertMay(caller, "people");
  const key = { projectId: caller.projectId, instanceId: id };
  const hasMore = await context.store.transact(async (tx) => {
    // Who was lowered since the exchange began ends nothing any more.
    if (caller.kind === "reviewer") assertMay(await currentCaller(tx, caller), "people");
    const instance = await lockInstance(tx, "update", key);
    if (instance === undefined) throw new Problem("not_found");
    if (instance.deletedAt === null) await markDeleted(tx, context, caller, key);
    tx.onCommit(() => context.wake.signal({ kind: "removed", instanceId: id }));
    return cancelPending(tx, context, key);
  });
  if (hasMore) await finishDeletion(context, key);
  await finishDeliveryEnd(context, key);
}

async function markDeleted(
  tx: Transaction,
  { random }: Context,
  caller: ProvisionerCaller | ReviewerCaller,
  instance: InstanceKey,
): Promise<void> {
  const now = await tx.now();
  await markInstanceDeleted(tx, instance, now);
  const revoked = await revokeCredentialsOf(tx, instance.instanceId, now);
  // Before the requests end: what ends without a receiver is not notified.
  await removeReceiver(tx, instance);
  await appendAudit(tx, random, {
    at: now,
    projectId: instance.projectId,
    kind: "instance.deleted",
    actor:
      caller.kind === "reviewer"
        ? `reviewer:${caller.reviewerId}`
        : `provisioner:${caller.provisionerId}`,
    subject: `instance:${instance.instanceId}`,
    detail: { credentials_revoked: revoked },
  });
}
