import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { createFingerprintKey, type Keyring, keyIdOf } from "../secrets/keyring.ts";
import { FINGERPRINT_KEY } from "../storage/sql/sealed.ts";
import {
  insertSecretKey,
  lockSecretKey,
  type StoredSecretKey,
  storeFingerprintKey,
} from "../storage/sql/secret-key.ts";
import type { Transaction } from "../storage/store.ts";
import { type Resealing, resealSecrets } from "./resealSecrets.ts";

const NOTHING_RESEALED: Resealing = { resealed: 0, unopened: 0 };

/**
 * Makes sure that the secret key fits the database, ties a new database to it, and hands the
 * fingerprint key of the database to the keyring. With a wrong key every provisioning replay
 * would fail, silently until somebody needs one. When the database still names a previous key,
 * the rotation is finished here.
 *
 * @param mayReseal false beside a running server, which may not know the new key
 * @throws Failure when the database was sealed with a key that is not here, or names a previous
 *   one and `mayReseal` is false
 */
export async function adoptSecretKey(
  { store, keyring, random }: Pick<Context, "store" | "keyring" | "random">,
  mayReseal: boolean,
): Promise<Resealing> {
  keyring.useFingerprintKey(await store.transactAlone((tx) => adopt(tx, keyring, mayReseal)));
  // Also when the current key is recorded: another process may have sealed with a previous one.
  if (!mayReseal || keyring.previousKeyIds.length === 0) return NOTHING_RESEALED;
  return resealSecrets({ store, keyring, random });
}

/** @returns the fingerprint key */
async function adopt(tx: Transaction, keyring: Keyring, mayReseal: boolean): Promise<Uint8Array> {
  const stored = await lockSecretKey(tx);
  if (stored === undefined) {
    const made = createFingerprintKey();
    const sealedFingerprintKey = sealFingerprintKey(keyring, made);
    await insertSecretKey(tx, { keyId: keyring.keyId, sealedFingerprintKey });
    return made;
  }
  assertKnown(keyring, stored);
  if (!mayReseal) assertCurrent(keyring, stored);
  if (stored.sealedFingerprintKey === null) {
    const derived = keyring.derivedFingerprintKey(stored.keyId);
    await storeFingerprintKey(tx, sealFingerprintKey(keyring, derived));
    return derived;
  }
  const text = keyring.open(stored.sealedFingerprintKey, FINGERPRINT_KEY.what);
  return Buffer.from(text, "base64");
}

function sealFingerprintKey(keyring: Keyring, key: Uint8Array): string {
  return keyring.seal(Buffer.from(key).toString("base64"), FINGERPRINT_KEY.what);
}

/** During a rotation the fingerprint key is the first to be sealed with the new key. */
function assertKnown(keyring: Keyring, { keyId, sealedFingerprintKey }: StoredSecretKey): void {
  const needed = [keyId, keyIdOf(sealedFingerprintKey ?? "") ?? keyId];
  const missing = needed.find((id) => !keyring.knows(id));
  if (missing === undefined) return;
  const previous = keyring.previousKeyIds.join(", ");
  throw new Failure(
    "secret-key",
    `the secret key (${keyring.keyId}) is not the one this database is sealed with (${missing})` +
      `${previous === "" ? "" : `, nor is a previous one (${previous})`}: put that key back; ` +
      "if a newer one has taken its place, as a line of secret.key.previous or as " +
      "COUNTERSIGN_SECRET_KEY_PREVIOUS",
  );
}

function assertCurrent(keyring: Keyring, { keyId }: StoredSecretKey): void {
  if (keyId === keyring.keyId) return;
  throw new Failure(
    "secret-key",
    `the database is still sealed with key ${keyId}, and the secret key is ${keyring.keyId}: ` +
      "start the server with these keys first, it finishes the rotation",
  );
}
