/**
 * The signature of one message, computed where it is needed: the protocol's own goes through
 * WebCrypto and its threads, which costs more than the rest of a message together.
 *
 * @see contract: Authentication, 5; signWebhook of the protocol; contract/vectors/signature.json
 */

import { createHmac, type KeyObject } from "node:crypto";

/** @returns what signWebhook returns for the same */
export function signMessage(
  key: KeyObject,
  id: string,
  timestampS: number,
  body: string | Uint8Array,
): string {
  const content = createHmac("sha256", key).update(`${id}.${timestampS}.`).update(body);
  return `v1,${content.digest("base64")}`;
}
