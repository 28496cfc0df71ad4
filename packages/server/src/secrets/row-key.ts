/**
 * Encrypts the row key of a database together with the time from which rows have MACs, so that
 * write access to the database cannot change that time.
 */

import { Failure } from "../failure.ts";
import type { Keyring } from "./keyring.ts";

/** The encryption context; as in storage/sql/operate/encrypted-columns.ts. */
const CONTEXT = "row key";

export interface RowKey {
  readonly key: Uint8Array;
  /** Epoch ms. */
  readonly since: number;
}

export function encryptRowKey(keyring: Keyring, { key, since }: RowKey): string {
  return keyring.encrypt(`${since} ${Buffer.from(key).toString("base64")}`, CONTEXT);
}

/** @throws Failure when the key that encrypted it is missing, or the text was altered */
export function decryptRowKey(keyring: Keyring, encrypted: string): RowKey {
  const [, since, key] =
    /^(\d{1,16}) ([A-Za-z0-9+/]{43}=)$/.exec(keyring.decrypt(encrypted, CONTEXT)) ?? [];
  if (since === undefined || key === undefined) {
    throw new Failure("secret-key", "the row key of the database is malformed");
  }
  return { key: Buffer.from(key, "base64"), since: Number(since) };
}
