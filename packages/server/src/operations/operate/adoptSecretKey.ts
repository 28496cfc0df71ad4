import { timeOfId } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { Failure } from "../../failure.ts";
import {
  createFingerprintKey,
  createRowKey,
  type Keyring,
  keyIdOf,
} from "../../secrets/keyring.ts";
import { decryptRowKey, encryptRowKey, type RowKey } from "../../secrets/row-key.ts";
import { FINGERPRINT_KEY } from "../../storage/sql/operate/encrypted-columns.ts";
import {
  hasAuditLog,
  insertSecretKey,
  lockSecretKey,
  readHighestId,
  type StoredSecretKey,
  storeFingerprintKey,
  storeRowKey,
} from "../../storage/sql/operate/secret-key.ts";
import type { Transaction } from "../../storage/store.ts";
import { type Reencryption, reencryptSecrets } from "./reencryptSecrets.ts";

const NOTHING_REENCRYPTED: Reencryption = { reencrypted: 0, undecryptable: 0 };

/**
 * Verifies that the secret key matches the database. Records the key of a new database. Gives the
 * fingerprint key to the keyring and the row key to the store. With a wrong key, every provisioning
 * replay would fail. Completes a rotation when the database still has a previous key.
 *
 * @param mayReencrypt false beside a running server, which may not have the new key
 * @throws Failure when the key that encrypted the database is missing, or the database has a
 * previous one and `mayReencrypt` is false
 */
export async function adoptSecretKey(
  { store, keyring, random }: Pick<Context, "store" | "keyring" | "random">,
  mayReencrypt: boolean,
): Promise<Reencryption> {
  const adopted = await store.transactExclusive((tx) => adopt(tx, keyring, mayReencrypt));
  keyring.useFingerprintKey(adopted.fingerprintKey);
  store.integrity.useKey(adopted.rowKey);
  // Also when the current key is recorded: another process may have encrypted with a previous one.
  if (!mayReencrypt || keyring.previousKeyIds.length === 0) return NOTHING_REENCRYPTED;
  return reencryptSecrets({ store, keyring, random });
}

interface Adopted {
  readonly fingerprintKey: Uint8Array;
  readonly rowKey: RowKey;
}

async function adopt(tx: Transaction, keyring: Keyring, mayReencrypt: boolean): Promise<Adopted> {
  const stored = await lockSecretKey(tx);
  if (stored === undefined) {
    // A new database has no rows without MACs.
    const [fingerprintKey, rowKey] = [createFingerprintKey(), { key: createRowKey(), since: 0 }];
    await insertSecretKey(tx, {
      keyId: keyring.keyId,
      encryptedFingerprintKey: encryptFingerprintKey(keyring, fingerprintKey),
      encryptedRowKey: encryptRowKey(keyring, rowKey),
    });
    return { fingerprintKey, rowKey };
  }
  assertKnown(keyring, stored);
  if (!mayReencrypt) assertCurrent(keyring, stored);
  return {
    fingerprintKey: await adoptFingerprintKey(tx, keyring, stored),
    rowKey: await adoptRowKey(tx, keyring, stored),
  };
}

/**
 * Marks an encrypted fingerprint key of a database with a row key, so that no second row key is
 * created.
 */
const WITH_ROW_KEY = " with row key";

/** @throws Failure when the row key was deleted from the database */
async function adoptFingerprintKey(
  tx: Transaction,
  keyring: Keyring,
  { keyId, encryptedFingerprintKey: encrypted, encryptedRowKey }: StoredSecretKey,
): Promise<Uint8Array> {
  const text = encrypted === null ? undefined : keyring.decrypt(encrypted, FINGERPRINT_KEY.context);
  const isMarked = text?.endsWith(WITH_ROW_KEY) ?? false;
  // The first audit logs are newer than encrypted fingerprint keys.
  const isOlder = !isMarked && (text !== undefined || !(await hasAuditLog(tx)));
  if (encryptedRowKey === null && !isOlder) throw new Failure("secret-key", ROW_KEY_GONE);
  if (text !== undefined && isMarked) {
    return Buffer.from(text.slice(0, -WITH_ROW_KEY.length), "base64");
  }
  const key =
    text === undefined ? keyring.derivedFingerprintKey(keyId) : Buffer.from(text, "base64");
  await storeFingerprintKey(tx, encryptFingerprintKey(keyring, key));
  return key;
}

const ROW_KEY_GONE =
  "the row key was deleted from the database, or the database was changed: " +
  "restore the table secret_key from a backup";

async function adoptRowKey(
  tx: Transaction,
  keyring: Keyring,
  { encryptedRowKey }: StoredSecretKey,
): Promise<RowKey> {
  if (encryptedRowKey !== null) return decryptRowKey(keyring, encryptedRowKey);
  const made = await makeRowKey(tx);
  await storeRowKey(tx, encryptRowKey(keyring, made));
  return made;
}

/**
 * How far ahead of the clock a stored id may be and still count as earlier: an earlier server's
 * clock was ahead, or the clock was set back.
 */
const AHEAD_MS_MAX = 24 * 3_600_000;

/** Programs that write rows without MACs stop before this schema is installed. */
async function makeRowKey(tx: Transaction): Promise<RowKey> {
  const now = await tx.now();
  const latest = timeOfId((await readHighestId(tx)) ?? "") ?? 0;
  return { key: createRowKey(), since: Math.max(now, Math.min(latest, now + AHEAD_MS_MAX)) };
}

function encryptFingerprintKey(keyring: Keyring, key: Uint8Array): string {
  const text = Buffer.from(key).toString("base64") + WITH_ROW_KEY;
  return keyring.encrypt(text, FINGERPRINT_KEY.context);
}

/** A rotation encrypts the fingerprint key first. */
function assertKnown(keyring: Keyring, { keyId, encryptedFingerprintKey }: StoredSecretKey): void {
  const needed = [keyId, keyIdOf(encryptedFingerprintKey ?? "") ?? keyId];
  const missing = needed.find((id) => !keyring.knows(id));
  if (missing === undefined) return;
  const previous = keyring.previousKeyIds.join(", ");
  throw new Failure(
    "secret-key",
    `the secret key (${keyring.keyId}) differs from the key of this database ` +
      `(${missing})` +
      `${previous === "" ? "" : `, nor is a previous one (${previous})`}: restore that key; ` +
      "if a newer key has replaced it, add it as a line of secret.key.previous or as " +
      "COUNTERSIGN_SECRET_KEY_PREVIOUS",
  );
}

function assertCurrent(keyring: Keyring, { keyId }: StoredSecretKey): void {
  if (keyId === keyring.keyId) return;
  throw new Failure(
    "secret-key",
    `the database is still encrypted with key ${keyId}, but the secret key is ${keyring.keyId}: ` +
      "start the server with these keys first to finish the rotation",
  );
}
