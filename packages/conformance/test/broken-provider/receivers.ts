/**
 * The challenge to a proposed receiver.
 */

import { randomUUID } from "node:crypto";
import { Problem } from "@countersign/protocol";
import type { Ledger } from "./conduct.ts";
import type { Reply } from "./conduct-delivery.ts";
import type { Receiver, StoredInstance } from "./ledger.ts";
import { refuseNonPublic, send } from "./sending.ts";
import { objectText, quote } from "./wire.ts";

/** @throws Problem `invalid_webhook_url`, `webhook_verification_failed` */
export async function verifyReceiver(
  ledger: Ledger,
  instance: StoredInstance,
  receiver: Receiver,
): Promise<void> {
  const { conduct } = ledger;
  await refuseNonPublic(ledger, receiver.url);
  const id = randomUUID();
  const challenge = conduct.challenge();
  const members = {
    id: quote(id),
    type: quote("webhook.verification"),
    registration_id: quote(receiver.registrationId),
    instance_id: quote(instance.id),
    created_at: quote(conduct.timestamp(Date.now())),
    challenge: quote(challenge),
  };
  const shown = conduct.verificationMembers(members, receiver, instance);
  const body = Buffer.from(objectText(shown));
  const timestampS = conduct.timestampS(Date.now(), undefined);
  const message = { receiver, id, timestampS, body };
  let reply: Reply | undefined;
  for (const each of conduct.verification(message, instance.receiver)) {
    reply = await send(ledger, instance, each);
  }
  if (reply === undefined || conduct.proves(reply, challenge)) return;
  const detail = { param: "delivery" };
  throw new Problem("webhook_verification_failed", "The receiver did not prove itself.", detail);
}
