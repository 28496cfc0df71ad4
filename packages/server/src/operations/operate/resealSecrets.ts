import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { Failure } from "../../failure.ts";
import type { Keyring } from "../../secrets/keyring.ts";
import { SERVER } from "../../storage/sql/keys.ts";
import {
  readSealedWithOthers,
  replaceSealed,
  SEALED_COLUMNS,
  type SealedColumn,
} from "../../storage/sql/operate/sealed.ts";
import { lockSecretKey, storeKeyId } from "../../storage/sql/operate/secret-key.ts";
import type { Transaction } from "../../storage/store.ts";

/** Bounds one transaction. */
const ROWS_PER_COMMIT_MAX = 200;

export interface Resealing {
  /** Secrets that are now sealed with the current key and were not before. */
  readonly resealed: number;
  /** Secrets that no key here opens: they stay as they are and wait for theirs. */
  readonly unopened: number;
}

/**
 * Seals everything with the current key that is sealed with a previous one, and then records the
 * current key as the one of the database. Interrupted anywhere, it is repeated from the start
 * and finds only what is left; until the last transaction both keys are needed.
 *
 * Called by: adoptSecretKey, under the lock of the data folder.
 */
export async function resealSecrets({
  store,
  keyring,
  random,
}: Pick<Context, "store" | "keyring" | "random">): Promise<Resealing> {
  let resealed = 0;
  let unopened = 0;
  for (const column of SEALED_COLUMNS) {
    let last: readonly string[] | undefined;
    do {
      const after = last;
      const step = await store.transact((tx) => resealSome(tx, keyring, column, after));
      resealed += step.resealed;
      unopened += step.unopened;
      last = step.last;
    } while (last !== undefined);
  }
  await store.transact(async (tx) => {
    const before = await lockSecretKey(tx);
    await storeKeyId(tx, keyring.keyId);
    if (before?.keyId === keyring.keyId && resealed === 0) return;
    await appendAudit(tx, random, {
      at: await tx.now(),
      projectId: SERVER,
      kind: "secret_key.rotated",
      actor: "system:secret-key",
      subject: `secret_key:${keyring.keyId}`,
      detail: { previous: before?.keyId ?? null, resealed, unopened },
    });
  });
  return { resealed, unopened };
}

/** @returns with the key of the last row, when there may be more behind it */
async function resealSome(
  tx: Transaction,
  keyring: Keyring,
  column: SealedColumn,
  after: readonly string[] | undefined,
): Promise<Resealing & { readonly last: readonly string[] | undefined }> {
  const rows = await readSealedWithOthers(tx, column, keyring.keyId, after, ROWS_PER_COMMIT_MAX);
  let resealed = 0;
  let unopened = 0;
  for (const row of rows) {
    const secret = openIfPossible(keyring, row.sealed, row.place);
    if (secret === undefined) unopened++;
    else resealed += await replaceSealed(tx, column, row, keyring.encrypt(secret, row.place));
  }
  return {
    resealed,
    unopened,
    last: rows.length < ROWS_PER_COMMIT_MAX ? undefined : rows.at(-1)?.key,
  };
}

/** One damaged secret must not keep the key of all others from being changed. */
function openIfPossible(keyring: Keyring, sealed: string, place: string): string | undefined {
  try {
    return keyring.decrypt(sealed, place);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}
