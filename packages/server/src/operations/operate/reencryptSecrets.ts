import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { Failure } from "../../failure.ts";
import type { Keyring } from "../../secrets/keyring.ts";
import { SERVER } from "../../storage/sql/keys.ts";
import {
  ENCRYPTED_COLUMNS,
  type EncryptedColumn,
  readEncryptedWithOtherKeys,
  replaceEncrypted,
} from "../../storage/sql/operate/encrypted-columns.ts";
import { lockSecretKey, storeKeyId } from "../../storage/sql/operate/secret-key.ts";
import type { Transaction } from "../../storage/store.ts";

/** Bounds one transaction. */
const ROWS_PER_COMMIT_MAX = 200;

export interface Reencryption {
  /** Secrets that are now encrypted with the current key and were not before. */
  readonly reencrypted: number;
  /** Secrets that no configured key decrypts. They stay unchanged. */
  readonly undecryptable: number;
}

/**
 * Reencrypts all secrets of previous keys with the current key, and then records the current key as
 * the database's. After an interruption, the next start continues. Both keys are needed until the
 * last transaction.
 */
export async function reencryptSecrets({
  store,
  keyring,
  random,
}: Pick<Context, "store" | "keyring" | "random">): Promise<Reencryption> {
  let reencrypted = 0;
  let undecryptable = 0;
  for (const column of ENCRYPTED_COLUMNS) {
    let last: readonly string[] | undefined;
    do {
      const after = last;
      const step = await store.transact((tx) => reencryptPage(tx, keyring, column, after));
      reencrypted += step.reencrypted;
      undecryptable += step.undecryptable;
      last = step.last;
    } while (last !== undefined);
  }
  await store.transact(async (tx) => {
    const before = await lockSecretKey(tx);
    await storeKeyId(tx, keyring.keyId);
    if (before?.keyId === keyring.keyId && reencrypted === 0) return;
    await appendAudit(tx, random, {
      at: await tx.now(),
      projectId: SERVER,
      kind: "secret_key.rotated",
      actor: "system:secret-key",
      subject: `secret_key:${keyring.keyId}`,
      detail: { previous: before?.keyId ?? null, resealed: reencrypted, unopened: undecryptable },
    });
  });
  return { reencrypted, undecryptable };
}

/** @returns the key of the last row, when more may follow */
async function reencryptPage(
  tx: Transaction,
  keyring: Keyring,
  column: EncryptedColumn,
  after: readonly string[] | undefined,
): Promise<Reencryption & { readonly last: readonly string[] | undefined }> {
  const rows = await readEncryptedWithOtherKeys(
    tx,
    column,
    keyring.keyId,
    after,
    ROWS_PER_COMMIT_MAX,
  );
  let reencrypted = 0;
  let undecryptable = 0;
  for (const row of rows) {
    const secret = decryptIfPossible(keyring, row.encrypted, row.context);
    if (secret === undefined) undecryptable++;
    else
      reencrypted += await replaceEncrypted(tx, column, row, keyring.encrypt(secret, row.context));
  }
  return {
    reencrypted,
    undecryptable,
    last: rows.length < ROWS_PER_COMMIT_MAX ? undefined : rows.at(-1)?.key,
  };
}

/** One damaged secret must not stop the rotation of all others. */
function decryptIfPossible(
  keyring: Keyring,
  encrypted: string,
  context: string,
): string | undefined {
  try {
    return keyring.decrypt(encrypted, context);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}
