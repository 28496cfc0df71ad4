/**
 * Makes rows that a server accepts as its own: with the MACs of its database.
 */

import { Keyring } from "@countersign/server/secrets/keyring";
import { openRowKey } from "@countersign/server/secrets/row-key";
import { Integrity } from "@countersign/server/storage/integrity";

/**
 * @param secretKey of the server, base64
 * @param sealedRowKey as its database has it
 */
export function integrityWith(secretKey: string, sealedRowKey: unknown): Integrity {
  const integrity = new Integrity();
  const keyring = new Keyring(Buffer.from(secretKey, "base64"));
  integrity.useKey(openRowKey(keyring, String(sealedRowKey)));
  return integrity;
}

/** For rows that no server reads. */
export function anyIntegrity(): Integrity {
  const integrity = new Integrity();
  integrity.useKey({ key: new Uint8Array(32), since: 0 });
  return integrity;
}
