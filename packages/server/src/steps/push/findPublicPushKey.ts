/** Creates and reads the key pair that signs web push messages. */

import type { Context } from "../../context.ts";
import type { VapidKey } from "../../core/push.ts";
import { createVapidKey } from "../../secrets/vapid-key.ts";
import { PUSH_KEY } from "../../storage/sql/operate/encrypted-columns.ts";
import {
  insertPushKey,
  readPushKey,
  type StoredPushKey,
} from "../../storage/sql/push/push-subscriptions.ts";
import type { Reader } from "../../storage/store.ts";

/**
 * The public key for push subscriptions. The pair is created at the first use and never replaced,
 * because every browser would have to subscribe again.
 *
 * @returns base64url
 */
export async function findPublicPushKey({
  store,
  keyring,
}: Pick<Context, "store" | "keyring">): Promise<string> {
  const known = await readPushKey(store);
  if (known !== undefined) return known.publicKey;
  const { publicKey, privateKey } = createVapidKey();
  const encryptedPrivateKey = keyring.encrypt(privateKey, PUSH_KEY.context);
  return store.transact(async (tx) => {
    await insertPushKey(tx, { publicKey, encryptedPrivateKey }, await tx.now());
    return ((await readPushKey(tx)) as StoredPushKey).publicKey;
  });
}

/** @throws Failure `secret-key` when the key that encrypted it is missing */
export async function openPushKey(
  reader: Reader,
  { keyring }: Pick<Context, "keyring">,
): Promise<VapidKey> {
  const stored = await readPushKey(reader);
  if (stored === undefined) throw new Error("the push key is missing");
  const { publicKey, encryptedPrivateKey } = stored;
  return { publicKey, privateKey: keyring.decrypt(encryptedPrivateKey, PUSH_KEY.context) };
}
