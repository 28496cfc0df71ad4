/** Subscribes a browser to web push, and unsubscribes it. */

import { invalidField, Problem, uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { sha256Hex } from "../../core/digest.ts";
import {
  type PushTarget,
  type StoredSubscription,
  SUBSCRIPTIONS_PER_PERSON_MAX,
} from "../../core/push.ts";
import type { SignedIn } from "../../identity/caller.ts";
import { isPushPoint, isPushSecret } from "../../secrets/vapid-key.ts";
import { findPublicPushKey } from "../../steps/push/findPublicPushKey.ts";
import { pushTargetContext } from "../../steps/push/openPushTarget.ts";
import { removeSubscription, touchProjects } from "../../steps/push/removeSubscription.ts";
import { SERVER } from "../../storage/sql/keys.ts";
import { lockPerson } from "../../storage/sql/people/people.ts";
import {
  insertSubscription,
  listSubscriptionsOf,
  lockSubscription,
  lockSubscriptionByEndpoint,
  updateSubscription,
} from "../../storage/sql/push/push-subscriptions.ts";

export interface PushOrder extends PushTarget {
  readonly name: string;
}

/**
 * Subscribes a browser of this user. A known browser gets new keys; a browser of another user
 * changes its owner.
 *
 * @returns the subscription, and whether it is new
 * @throws Problem `invalid_request` naming the field
 */
export async function subscribePush(
  { store, random, keyring, notifier }: Pick<Context, "store" | "random" | "keyring" | "notifier">,
  { person }: SignedIn,
  { name, ...target }: PushOrder,
): Promise<{ readonly subscription: StoredSubscription; readonly isNew: boolean }> {
  assertTarget(notifier, target);
  // Creates the key now, so that the sender finds it later.
  await findPublicPushKey({ store, keyring });
  const endpointSha256 = sha256Hex(target.endpoint);
  const personId = person.id;
  return store.transact(async (tx) => {
    if ((await lockPerson(tx, "update", personId)) === undefined) {
      throw new Problem("invalid_credential");
    }
    const now = await tx.now();
    const known = await lockSubscriptionByEndpoint(tx, endpointSha256);
    const encrypt = (id: string) => keyring.encrypt(JSON.stringify(target), pushTargetContext(id));
    if (known?.personId === personId) {
      const change = { id: known.id, name, encryptedTarget: encrypt(known.id) };
      await updateSubscription(tx, change);
      return { subscription: { ...known, ...change }, isNew: false };
    }
    const own = await listSubscriptionsOf(tx, personId);
    if (own.length >= SUBSCRIPTIONS_PER_PERSON_MAX) {
      const message = `You have ${own.length} browsers, the maximum. Remove one first.`;
      throw new Problem("invalid_request", message, { param: "endpoint" });
    }
    if (known !== undefined) await removeSubscription(tx, random, known, `person:${personId}`);
    const id = uuidV7(now, random.bytes(10));
    await insertSubscription(tx, {
      id,
      personId,
      endpointSha256,
      name,
      createdAt: now,
      targetShown: `${new URL(target.endpoint).origin}/...`,
      encryptedTarget: encrypt(id),
    });
    await touchProjects(tx, personId);
    await appendAudit(tx, random, {
      at: now,
      projectId: SERVER,
      kind: "push.subscribed",
      actor: `person:${personId}`,
      subject: `push_subscription:${id}`,
      detail: { endpoint_sha256: endpointSha256 },
    });
    const made = await lockSubscription(tx, id);
    if (made === undefined) throw new Error("the created subscription is missing");
    return { subscription: made, isNew: true };
  });
}

function assertTarget(notifier: Context["notifier"], { endpoint, p256dh, auth }: PushTarget): void {
  const fault = notifier.pushFault(endpoint);
  if (fault !== undefined) throw invalidField("endpoint", fault);
  if (!isPushPoint(p256dh))
    throw invalidField("keys.p256dh", "must be an uncompressed P-256 point in base64url");
  if (!isPushSecret(auth)) throw invalidField("keys.auth", "must be 16 bytes in base64url");
}

/** @throws Problem `not_found`, also for another user's subscription */
export async function unsubscribePush(
  { store, random }: Pick<Context, "store" | "random">,
  { person }: SignedIn,
  id: string,
): Promise<void> {
  await store.transact(async (tx) => {
    const known = await lockSubscription(tx, id);
    if (known?.personId !== person.id) throw new Problem("not_found");
    await removeSubscription(tx, random, known, `person:${person.id}`);
  });
}
