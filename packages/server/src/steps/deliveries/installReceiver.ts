/** Installs the receiver of an instance, with its encrypted signing secret. */

import type { WebhookDeliveryInput } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { redirectNotifications } from "../../storage/sql/deliveries/notifications.ts";
import { putReceiver } from "../../storage/sql/deliveries/receivers.ts";
import type { InstanceKey } from "../../storage/sql/keys.ts";
import type { Transaction } from "../../storage/store.ts";

/**
 * Activates a verified receiver and encrypts its secret. Queued notifications become due there; the
 * end of their retry window does not change.
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
    encryptedSecret: keyring.encrypt(signingSecret, signingSecretContext(instance.instanceId)),
    verifiedAt: now,
  });
}

/** The encryption context of a signing secret. */
export function signingSecretContext(instanceId: string): string {
  return `signing secret ${instanceId}`;
}
