/** The optional `Idempotency-Key` of what a reviewer creates: the id of what a key created. */

import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { hashIdempotencyKey } from "../../secrets/keyring.ts";
import type { ScopedKey } from "../../storage/sql/keys.ts";
import { insertResult, readResult } from "../../storage/sql/requests/idempotency.ts";
import type { Transaction } from "../../storage/store.ts";

/** A key with the fingerprint of its input. */
export interface InputKey extends ScopedKey {
  readonly fingerprint: string;
}

export interface CreatedWithKey {
  readonly id: string;
  readonly instanceId: string;
  readonly createdAt: number;
}

/**
 * @param kind of what is created: each kind and each reviewer has keys of its own
 * @param input everything that must be the same when the key is used again
 * @returns undefined without a key
 */
export function inputKey(
  { keyring }: Pick<Context, "keyring">,
  { projectId, reviewerId }: ReviewerCaller,
  { kind, input }: { readonly kind: "grant" | "comment"; readonly input: unknown },
  idempotencyKey: string | undefined,
): InputKey | undefined {
  if (idempotencyKey === undefined) return undefined;
  return {
    projectId,
    scope: `${kind}:${reviewerId}`,
    keyHash: hashIdempotencyKey(idempotencyKey),
    fingerprint: keyring.fingerprint(JSON.stringify(input)),
  };
}

/**
 * @returns the id of what the key created; undefined for a new key
 * @throws Problem `idempotency_conflict` when the key was used with other input
 */
export async function readUsedKey(tx: Transaction, key: InputKey): Promise<string | undefined> {
  const stored = await readResult(tx, key);
  if (stored === undefined) return undefined;
  if (stored.fingerprint !== key.fingerprint) throw new Problem("idempotency_conflict");
  return JSON.parse(stored.result) as string;
}

/** @returns false when a concurrent exchange has used the key */
export function storeUsedKey(
  tx: Transaction,
  key: InputKey,
  { id, instanceId, createdAt }: CreatedWithKey,
): Promise<boolean> {
  const result = JSON.stringify(id);
  return insertResult(tx, { ...key, instanceId, result, encryptedCredential: null, createdAt });
}
