import type { WebhookDeliveryInput } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { redirectNotifications } from "../../storage/sql/deliveries/notifications.ts";
import { putReceiver } from "../../storage/sql/deliveries/receivers.ts";
import type { InstanceKey } from "../../storage/sql/keys.ts";
import type { Transaction } from "../../storage/store.ts";

/**
 * Makes a verified receiver the active one, its secret sealed. Queued notifications are due there
 * now; the end of their retry window does not change.
 *
 * Called by: provisionInstance, updateInstance.
 */
export async function installReceiver(
  tx: Transaction,
  { keyring }: Pick<Context, "keyring">,
  instance: InstanceKey,
  { url, registrationId, signingSecret }: WebhookDeliveryInput,
): Promise<void> {
  const now = await tx.now();
  await redirectNotifications(tx, instance, now);
  await putReceiver(tx, instance, {
    url: url.text,
    registrationId,
    sealedSecret: keyring.encrypt(signingSecret, signingSecretPlace(instance.instanceId)),
    verifiedAt: now,
  });
}

/** What a sealed signing secret is bound to. */
export function signingSecretPlace(instanceId: string): string {
  return `signing secret ${instanceId}`;
}
