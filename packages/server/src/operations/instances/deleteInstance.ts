/** Deletes instances for good, for their provisioner, an admin or an operator. */

import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { Actor } from "../../core/actor.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ProvisionerCaller, ReviewerCaller } from "../../identity/caller.ts";
import { currentCaller } from "../../steps/access/currentCaller.ts";
import { finishDeliveryEnd } from "../../steps/deliveries/finishDeliveryEnd.ts";
import { cancelPending, finishDeletion } from "../../steps/instances/finishDeletion.ts";
import { revokeCredentialsOf } from "../../storage/sql/access/credentials.ts";
import { readProjects } from "../../storage/sql/access/holders.ts";
import { removeReceiver } from "../../storage/sql/deliveries/receivers.ts";
import { lockInstance, markInstanceDeleted } from "../../storage/sql/instances/instances.ts";
import type { InstanceKey } from "../../storage/sql/keys.ts";
import type { Transaction } from "../../storage/store.ts";

/**
 * Deletes an instance permanently. One transaction revokes its credentials, ends all deliveries and
 * cancels its pending requests, without notifications. Further transactions cancel the rest of very
 * many requests before the answer. After the first transaction no request can be opened, and
 * `resolveRequest` cancels every pending one. Repeating it changes nothing.
 *
 * @throws Problem `not_found` for unknown and other projects' instances; `forbidden` for a reviewer
 * without the power
 * @see contract: Endpoints, DELETE /v1/instances/{id}
 */
export async function deleteInstance(
  context: Context,
  caller: ProvisionerCaller | ReviewerCaller,
  id: string,
): Promise<void> {
  const { kind, projectId } = caller;
  if (kind === "reviewer") assertMay(caller, "people");
  const actor: Actor =
    kind === "reviewer" ? `reviewer:${caller.reviewerId}` : `provisioner:${caller.provisionerId}`;
  await deleteAs(context, actor, { projectId, instanceId: id }, async (tx) => {
    // The role may have changed since the exchange started.
    if (kind === "reviewer") assertMay(await currentCaller(tx, caller), "people");
  });
}

/**
 * The same for operators on the server, who need no account. A server in another process does not
 * notify polls of the instance: they end at their limit.
 *
 * @param project its name
 * @throws Problem `not_found`
 */
export async function deleteInstanceAsOperator(
  context: Context,
  project: string,
  id: string,
): Promise<void> {
  const [found] = await readProjects(context.store, project);
  if (found === undefined) throw new Problem("not_found", "No project has this name.");
  const key = { projectId: found.id, instanceId: id };
  await deleteAs(context, "operator:cli", key, async () => {});
}

/** @param admit throws when the caller may not, in the transaction that deletes */
async function deleteAs(
  context: Context,
  actor: Actor,
  key: InstanceKey,
  admit: (tx: Transaction) => Promise<void>,
): Promise<void> {
  const { instanceId: id } = key;
  const hasMore = await context.store.transact(async (tx) => {
    await admit(tx);
    const instance = await lockInstance(tx, "update", key);
    if (instance === undefined) throw new Problem("not_found");
    if (instance.deletedAt === null) await markDeleted(tx, context, actor, key);
    tx.onCommit(() => context.wake.signal({ kind: "removed", instanceId: id }));
    return cancelPending(tx, context, key);
  });
  if (hasMore) await finishDeletion(context, key);
  await finishDeliveryEnd(context, key);
}

async function markDeleted(
  tx: Transaction,
  { random }: Context,
  actor: Actor,
  instance: InstanceKey,
): Promise<void> {
  const now = await tx.now();
  await markInstanceDeleted(tx, instance, now);
  const revoked = await revokeCredentialsOf(tx, instance.instanceId, now);
  // Before the requests are resolved, so that nothing is notified.
  await removeReceiver(tx, instance);
  await appendAudit(tx, random, {
    at: now,
    projectId: instance.projectId,
    kind: "instance.deleted",
    actor,
    subject: `instance:${instance.instanceId}`,
    detail: { credentials_revoked: revoked },
  });
}
