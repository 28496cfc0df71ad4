/** Checks the token of an identity provider. */

import { Problem } from "@countersign/protocol";
import type { ScimCaller } from "../../identity/caller.ts";
import { lockScimToken, type StoredScimToken } from "../../storage/sql/scim/scim-tokens.ts";
import type { Transaction } from "../../storage/store.ts";

/**
 * Rereads and locks the token: an earlier revocation is visible, and a later one waits for this
 * transaction.
 *
 * @throws Problem `invalid_credential`
 */
export async function assertScimToken(tx: Transaction, { tokenId }: ScimCaller): Promise<void> {
  assertScimTokenActive(await lockScimToken(tx, "share", tokenId), await tx.now());
}

/** @throws Problem `invalid_credential` when it is missing, revoked or expired */
export function assertScimTokenActive(
  token: StoredScimToken | undefined,
  now: number,
): StoredScimToken {
  const isActive =
    token !== undefined &&
    token.revokedAt === null &&
    (token.expiresAt === null || now < token.expiresAt);
  if (!isActive) throw new Problem("invalid_credential");
  return token;
}
