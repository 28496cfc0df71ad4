/**
 * How the row key of a database is sealed: with the time since when rows have MACs, so that writing
 * the database cannot move that time.
 */

import { Failure } from "../failure.ts";
import type { Keyring } from "./keyring.ts";

/** What the sealed text is bound to; as in storage/sql/operate/sealed.ts. */
const PLACE = "row key";

export interface RowKey {
  readonly key: Uint8Array;
  /** Epoch ms. */
  readonly since: number;
}

export function sealRowKey(keyring: Keyring, { key, since }: RowKey): string {
  return keyring.encrypt(`${since} ${Buffer.from(key).toString("base64")}`, PLACE);
}

/** @throws Failure when the key that sealed it is not here, or the text was altered */
export function openRowKey(keyring: Keyring, sealed: string): RowKey {
  const [, since, key] =
    /^(\d{1,16}) ([A-Za-z0-9+/]{43}=)$/.exec(keyring.decrypt(sealed, PLACE)) ?? [];
  if (since === undefined || key === undefined) {
    throw new Failure("secret-key", "the row key of the database is malformed");
  }
  return { key: Buffer.from(key, "base64"), since: Number(since) };
}
