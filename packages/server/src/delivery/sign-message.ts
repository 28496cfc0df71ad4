/**
 * Signs one message synchronously. The protocol's own function uses WebCrypto and its threads,
 * which costs more than the rest of a message.
 *
 * @see contract: Authentication, 5; signWebhook of the protocol; contract/vectors/signature.json
 */

import { createHmac, type KeyObject } from "node:crypto";

/** @returns the same value as signWebhook */
export function signMessage(
  key: KeyObject,
  id: string,
  timestampS: number,
  body: string | Uint8Array,
): string {
  const content = createHmac("sha256", key).update(`${id}.${timestampS}.`).update(body);
  return `v1,${content.digest("base64")}`;
}
