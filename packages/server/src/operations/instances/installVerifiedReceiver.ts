/** The webhook receiver of an instance, as an admin of the project changes and tests it. */

import { isDeepStrictEqual } from "node:util";
import {
  invalidField,
  Problem,
  parseSigningSecret,
  type WebhookDeliveryInput,
} from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import type { Verification } from "../../delivery/delivery.ts";
import { assertMay } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { finishDeliveryEnd } from "../../steps/deliveries/finishDeliveryEnd.ts";
import { installReceiver, signingSecretContext } from "../../steps/deliveries/installReceiver.ts";
import { lockAdministered } from "../../steps/instances/lockAdministered.ts";
import { readDeliveryState, removeReceiver } from "../../storage/sql/deliveries/receivers.ts";
import { supersedeVerifications } from "../../storage/sql/instances/verifications.ts";
import type { InstanceKey } from "../../storage/sql/keys.ts";
import type { Transaction } from "../../storage/store.ts";

export interface ReceiverOrder {
  readonly url: string;
  readonly registrationId: string;
  /** A text that starts with `whsec_`. */
  readonly signingSecret: string;
}

/**
 * Verifies a receiver and installs it. Queued deliveries go to it.
 *
 * @throws Problem `forbidden`, `stale_sign_in`, `not_found`, `invalid_request`,
 * `invalid_webhook_url`, `webhook_verification_failed`, `rate_limited`; `update_superseded` when
 * the receiver was changed during the verification
 */
export async function installVerifiedReceiver(
  context: Context,
  caller: ReviewerCaller,
  instanceId: string,
  order: ReceiverOrder,
): Promise<void> {
  assertMay(caller, "people");
  const delivery = readOrder(context, order);
  const key = { projectId: caller.projectId, instanceId };
  const read = async (tx: Transaction) => {
    const { provisionerId } = await lockAdministered(tx, caller, instanceId, "add the receiver");
    return { provisionerId, at: await tx.now(), state: await readDeliveryState(tx, key) };
  };
  const before = await context.store.transact(read);
  const { provisionerId } = before;
  assertVerified(await context.delivery.verify({ provisionerId, instanceId, delivery }), "url");
  await context.store.transact(async (tx) => {
    const { state } = await read(tx);
    // A change that was accepted later, such as a removal, stays.
    if (!isDeepStrictEqual(state, before.state)) throw new Problem("update_superseded");
    tx.onCommit(() => context.wake.signal({ kind: "retryRequested", ...key }));
    await supersede(tx, key, before.at);
    await installReceiver(tx, context, key, delivery);
    await record(tx, context, caller, instanceId, delivery.registrationId);
  });
}

/**
 * Removes the receiver and ends its deliveries. Repeating it changes nothing.
 *
 * @throws Problem `forbidden`, `not_found`
 */
export async function removeReceiverOf(
  context: Context,
  caller: ReviewerCaller,
  instanceId: string,
): Promise<void> {
  assertMay(caller, "people");
  const key = { projectId: caller.projectId, instanceId };
  await context.store.transact(async (tx) => {
    await lockAdministered(tx, caller, instanceId);
    await supersede(tx, key, await tx.now());
    if (!(await removeReceiver(tx, key))) return;
    tx.onCommit(() => context.wake.signal({ kind: "removed", instanceId }));
    await record(tx, context, caller, instanceId, null);
  });
  await finishDeliveryEnd(context, key);
}

/**
 * Sends a challenge to the receiver, as at its installation. Changes nothing.
 *
 * @throws Problem `forbidden`; `not_found`, also without a receiver; `webhook_verification_failed`,
 * `invalid_webhook_url`, `rate_limited`
 */
export async function testReceiver(
  context: Context,
  caller: ReviewerCaller,
  instanceId: string,
): Promise<void> {
  assertMay(caller, "people");
  const state = await context.store.transact(async (tx) => {
    await lockAdministered(tx, caller, instanceId);
    return readDeliveryState(tx, { projectId: caller.projectId, instanceId });
  });
  if (!state?.receiver) throw new Problem("not_found", "The instance has no receiver.");
  const { provisionerId, receiver } = state;
  const { url, registrationId, encryptedSecret } = receiver;
  const signingSecret = context.keyring.decrypt(encryptedSecret, signingSecretContext(instanceId));
  const delivery = readOrder(context, { url, registrationId, signingSecret });
  assertVerified(await context.delivery.verify({ provisionerId, instanceId, delivery }));
}

/** @throws Problem `unsupported_delivery_type`, `invalid_webhook_url`, `invalid_request` */
function readOrder(
  { settings, delivery }: Context,
  { url: text, registrationId, signingSecret }: ReceiverOrder,
): WebhookDeliveryInput {
  if (!settings.webhooks.enabled) {
    const message = "This server does not deliver notifications. The agent polls for decisions.";
    throw new Problem("unsupported_delivery_type", message);
  }
  const url = delivery.urls.read(text);
  if (url === undefined) throw new Problem("invalid_webhook_url", undefined, { param: "url" });
  if (parseSigningSecret(signingSecret) === undefined) {
    const rule = "must be whsec_ followed by the canonical padded base64 of exactly 32 bytes";
    throw invalidField("signing_secret", rule);
  }
  return { url, registrationId, signingSecret };
}

function assertVerified(verified: Verification, param?: string): void {
  switch (verified.kind) {
    case "verified":
      return;
    case "failed":
      throw new Problem("webhook_verification_failed", undefined, { param });
    case "unsafe":
      throw new Problem("invalid_webhook_url", undefined, { param });
    case "limited":
      throw new Problem("rate_limited", undefined, { retryAfterS: verified.retryAfterS });
  }
}

/**
 * A provisioner's update that was accepted before this change, and is being verified, does not
 * replace it.
 */
async function supersede(tx: Transaction, key: InstanceKey, acceptedAt: number): Promise<void> {
  const change = { scope: "console", keyHash: "", acceptedAt, renames: false, redirects: true };
  await supersedeVerifications(tx, { ...key, ...change }, await tx.now());
}

async function record(
  tx: Transaction,
  { random }: Context,
  { projectId, reviewerId }: ReviewerCaller,
  instanceId: string,
  registrationId: string | null,
): Promise<void> {
  await appendAudit(tx, random, {
    at: await tx.now(),
    projectId,
    kind: "instance.updated",
    actor: `reviewer:${reviewerId}`,
    subject: `instance:${instanceId}`,
    detail: { registration_id: registrationId },
  });
}
