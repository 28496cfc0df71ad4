import { Problem } from "@countersign/protocol";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { lockCredential, lockCredentialByHash } from "../../storage/sql/access/credentials.ts";
import { lockReviewer } from "../../storage/sql/access/holders.ts";
import type { Transaction } from "../../storage/store.ts";
import { mayAuthenticate } from "./mayAuthenticate.ts";

export interface CurrentCaller extends ReviewerCaller {
  /** Expiry of the token, epoch ms; null for sessions and tokens without one. */
  readonly expiresAt: number | null;
}

/**
 * Rereads and locks the caller and the token. So an earlier demotion, removal, disabling or
 * revocation is visible, and a later one waits for this transaction.
 *
 * @throws Problem `invalid_credential`
 */
export async function currentCaller(
  tx: Transaction,
  caller: ReviewerCaller,
): Promise<CurrentCaller> {
  const { projectId, reviewerId } = caller;
  const isSession = caller.session !== null;
  // Sent together and executed in this order, which is also the lock order of a removal.
  const [current, credential] = await Promise.all([
    lockReviewer(tx, "share", { projectId, id: reviewerId }),
    isSession ? undefined : lockToken(tx, caller),
  ]);
  if (!isSession && (credential === undefined || credential.revokedAt !== null)) {
    throw new Problem("invalid_credential");
  }
  if (current === undefined || !(await mayAuthenticate(tx, current))) {
    throw new Problem("invalid_credential");
  }
  const { name, role, groups, isBot } = current;
  return { ...caller, name, role, groups, isBot, expiresAt: credential?.expiresAt ?? null };
}

function lockToken(tx: Transaction, { tokenHash, credentialId }: ReviewerCaller) {
  return tokenHash === undefined
    ? lockCredential(tx, "share", credentialId)
    : lockCredentialByHash(tx, "share", tokenHash);
}
