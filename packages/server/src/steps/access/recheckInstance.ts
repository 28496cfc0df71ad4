/** Checks that the credential of an instance is neither revoked nor expired. */

import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import type { InstanceCaller } from "../../identity/caller.ts";
import {
  readCredentialByHash,
  type StoredCredential,
} from "../../storage/sql/access/credentials.ts";

/**
 * Rereads the credential of an instance at the end of a long poll.
 *
 * @throws Problem `invalid_credential` when it has been revoked or has expired
 */
export async function recheckInstance(
  context: Context,
  { tokenHash }: InstanceCaller,
): Promise<void> {
  assertCredentialActive(context, await readCredentialByHash(context.store, tokenHash));
}

export function assertCredentialActive(
  { clock }: Context,
  credential: StoredCredential | undefined,
): StoredCredential {
  if (credential === undefined || credential.revokedAt !== null) {
    throw new Problem("invalid_credential");
  }
  if (credential.expiresAt !== null && credential.expiresAt <= clock.now()) {
    throw new Problem("invalid_credential");
  }
  return credential;
}
