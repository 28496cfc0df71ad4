import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { ensureKeyId } from "../storage/sql/secret-key.ts";

/**
 * Makes sure that the secret key fits the database, and ties a new database to it. With another
 * key every provisioning replay would fail, silently until somebody needs one.
 *
 * @throws Failure when the database was sealed with another key
 */
export async function adoptSecretKey({
  store,
  keyring,
}: Pick<Context, "store" | "keyring">): Promise<void> {
  const keyId = await store.transact((tx) => ensureKeyId(tx, keyring.keyId));
  if (keyId !== keyring.keyId) {
    throw new Failure(
      "secret-key",
      `the secret key (${keyring.keyId}) is not the one this database was made with (${keyId})`,
    );
  }
}
