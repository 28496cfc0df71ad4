import { timeOfId } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { Failure } from "../../failure.ts";
import {
  createFingerprintKey,
  createRowKey,
  type Keyring,
  keyIdOf,
} from "../../secrets/keyring.ts";
import { openRowKey, type RowKey, sealRowKey } from "../../secrets/row-key.ts";
import { FINGERPRINT_KEY } from "../../storage/sql/operate/sealed.ts";
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
import { type Resealing, resealSecrets } from "./resealSecrets.ts";

const NOTHING_RESEALED: Resealing = { resealed: 0, unopened: 0 };

/**
 * Makes sure that the secret key fits the database, ties a new database to it, and hands over the
 * keys of the database: that of fingerprints to the keyring, that of rows to the store. With a
 * wrong key every provisioning replay would fail, silently until somebody needs one. When the
 * database still names a previous key, the rotation is finished here.
 *
 * @param mayReseal false beside a running server, which may not know the new key
 * @throws Failure when the database was sealed with a key that is not here, or names a previous
 *   one and `mayReseal` is false
 */
export async function adoptSecretKey(
  { store, keyring, random }: Pick<Context, "store" | "keyring" | "random">,
  mayReseal: boolean,
): Promise<Resealing> {
  const adopted = await store.transactExclusive((tx) => adopt(tx, keyring, mayReseal));
  keyring.useFingerprintKey(adopted.fingerprintKey);
  store.integrity.useKey(adopted.rowKey);
  // Also when the current key is recorded: another process may have sealed with a previous one.
  if (!mayReseal || keyring.previousKeyIds.length === 0) return NOTHING_RESEALED;
  return resealSecrets({ store, keyring, random });
}

interface Adopted {
  readonly fingerprintKey: Uint8Array;
  readonly rowKey: RowKey;
}

async function adopt(tx: Transaction, keyring: Keyring, mayReseal: boolean): Promise<Adopted> {
  const stored = await lockSecretKey(tx);
  if (stored === undefined) {
    // A new database has no rows from before rows had MACs.
    const [fingerprintKey, rowKey] = [createFingerprintKey(), { key: createRowKey(), since: 0 }];
    await insertSecretKey(tx, {
      keyId: keyring.keyId,
      sealedFingerprintKey: sealFingerprintKey(keyring, fingerprintKey),
      sealedRowKey: sealRowKey(keyring, rowKey),
    });
    return { fingerprintKey, rowKey };
  }
  assertKnown(keyring, stored);
  if (!mayReseal) assertCurrent(keyring, stored);
  return {
    fingerprintKey: await adoptFingerprintKey(tx, keyring, stored),
    rowKey: await adoptRowKey(tx, keyring, stored),
  };
}

/** Part of a sealed fingerprint key: its database has a row key, so none is created again. */
const WITH_ROW_KEY = " with row key";

/** @throws Failure when the row key was removed from the database */
async function adoptFingerprintKey(
  tx: Transaction,
  keyring: Keyring,
  { keyId, sealedFingerprintKey: sealed, sealedRowKey }: StoredSecretKey,
): Promise<Uint8Array> {
  const text = sealed === null ? undefined : keyring.decrypt(sealed, FINGERPRINT_KEY.what);
  const isMarked = text?.endsWith(WITH_ROW_KEY) ?? false;
  // The first audit logs are younger than sealed fingerprint keys.
  const isOlder = !isMarked && (text !== undefined || !(await hasAuditLog(tx)));
  if (sealedRowKey === null && !isOlder) throw new Failure("secret-key", ROW_KEY_GONE);
  if (text !== undefined && isMarked) {
    return Buffer.from(text.slice(0, -WITH_ROW_KEY.length), "base64");
  }
  const key =
    text === undefined ? keyring.derivedFingerprintKey(keyId) : Buffer.from(text, "base64");
  await storeFingerprintKey(tx, sealFingerprintKey(keyring, key));
  return key;
}

const ROW_KEY_GONE =
  "the row key was removed from the database, or the database was changed: " +
  "restore the table secret_key from a backup";

async function adoptRowKey(
  tx: Transaction,
  keyring: Keyring,
  { sealedRowKey }: StoredSecretKey,
): Promise<RowKey> {
  if (sealedRowKey !== null) return openRowKey(keyring, sealedRowKey);
  const made = await makeRowKey(tx);
  await storeRowKey(tx, sealRowKey(keyring, made));
  return made;
}

/**
 * How far ahead of the clock a stored id may be and still count as written before now: the clock of
 * an earlier server was ahead, or was set back.
 */
const AHEAD_MS_MAX = 24 * 3_600_000;

/** Programs that write rows without MACs have stopped before the schema got them. */
async function makeRowKey(tx: Transaction): Promise<RowKey> {
  const now = await tx.now();
  const latest = timeOfId((await readHighestId(tx)) ?? "") ?? 0;
  return { key: createRowKey(), since: Math.max(now, Math.min(latest, now + AHEAD_MS_MAX)) };
}

function sealFingerprintKey(keyring: Keyring, key: Uint8Array): string {
  const text = Buffer.from(key).toString("base64") + WITH_ROW_KEY;
  return keyring.encrypt(text, FINGERPRINT_KEY.what);
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
