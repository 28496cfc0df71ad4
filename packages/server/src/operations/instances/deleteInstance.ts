import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ProvisionerCaller, ReviewerCaller } from "../../identity/caller.ts";
import { revokeCredentialsOf } from "../../storage/sql/access/credentials.ts";
import { removeReceiver } from "../../storage/sql/deliveries/receivers.ts";
import { lockInstance, markInstanceDeleted } from "../../storage/sql/instances/instances.ts";
import type { InstanceKey } from "../../storage/sql/keys.ts";
import { readPendingIdsOfInstance } from "../../storage/sql/requests/pending-requests.ts";
import { lockResolvable } from "../../storage/sql/requests/requests.ts";
import type { Transaction } from "../../storage/store.ts";
import type { Signal } from "../../wake/wake.ts";
import { currentCaller } from "../access/currentCaller.ts";
import { finishDeliveryEnd } from "../deliveries/finishDeliveryEnd.ts";
import { resolveRequest } from "../requests/resolveRequest.ts";

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
  const ended = await context.store.transact(async (tx) => {
    // Who was lowered since the exchange began ends nothing any more.
    if (caller.kind === "reviewer") assertMay(await currentCaller(tx, caller), "people");
    const instance = await lockInstance(tx, "update", key);
    if (instance === undefined) throw new Problem("not_found");
    if (instance.deletedAt === null) await markDeleted(tx, context, caller, key);
    return cancelPending(tx, context, key);
  });
  signal(context, ended.signals);
  if (ended.more) await finishDeletion(context, key);
  await finishDeliveryEnd(context, key);
}

/**
 * Cancels what is still pending under a deleted instance.
 *
 * Called by: the deletion itself, and the retention worker for one that was interrupted.
 */
export async function finishDeletion(context: Context, instance: InstanceKey): Promise<void> {
  for (;;) {
    const ended = await context.store.transact((tx) => cancelPending(tx, context, instance));
    signal(context, ended.signals);
    if (!ended.more) return;
  }
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

interface Cancelled {
  readonly signals: readonly Signal[];
  /** Whether there may be others. */
  readonly more: boolean;
}

/** Cancels one batch of the pending requests, also those that are overdue. */
async function cancelPending(
  tx: Transaction,
  context: Context,
  instance: InstanceKey,
): Promise<Cancelled> {
  const signals: Signal[] = [];
  const { cancellationsPerCommitMax: limit } = context.settings;
  const pending = await readPendingIdsOfInstance(tx, instance, limit);
  for (const id of pending) {
    const request = await lockResolvable(tx, { projectId: instance.projectId, id });
    if (request === undefined) continue;
    const by = "system:instance-deletion";
    const resolution = await resolveRequest(tx, context, request, { status: "cancelled", by });
    if (resolution.kind === "resolved") signals.push(resolution.signal);
  }
  // Not how many ended here: some may have ended otherwise meanwhile.
  return { signals, more: pending.length === limit };
}

function signal({ wake }: Context, signals: readonly Signal[]): void {
  for (const one of signals) wake.signal(one);
}
