import { Problem } from "@countersign/protocol";
import type { ReviewerCaller } from "../identity/caller.ts";
import { lockCredential, lockCredentialByHash } from "../storage/sql/credentials.ts";
import { readReviewer } from "../storage/sql/holders.ts";
import type { Transaction } from "../storage/store.ts";
import { isLetIn } from "./authenticateCaller.ts";

export interface CurrentCaller extends ReviewerCaller {
  /** When the token ends, epoch ms; null when it does not, or when it is none but a session. */
  readonly expiresAt: number | null;
}

/**
 * The caller as this transaction finds them, with their token held: who was lowered, removed,
 * disabled or whose token was revoked since the exchange began gives nothing to anybody any more.
 *
 * @throws Problem `invalid_credential`
 */
export async function currentCaller(
  tx: Transaction,
  caller: ReviewerCaller,
): Promise<CurrentCaller> {
  const { projectId, reviewerId } = caller;
  const isSession = caller.session !== null;
  // Sent at once and answered one after another: the reviewer as of when the token is held.
  const [credential, current] = await Promise.all([
    isSession ? undefined : lockToken(tx, caller),
    readReviewer(tx, { projectId, id: reviewerId }),
  ]);
  if (!isSession && (credential === undefined || credential.revokedAt !== null)) {
    throw new Problem("invalid_credential");
  }
  if (current === undefined || !(await isLetIn(tx, current))) {
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
