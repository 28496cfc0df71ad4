import { Problem } from "@countersign/protocol";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { lockCredential, lockCredentialByHash } from "../../storage/sql/access/credentials.ts";
import { lockReviewer } from "../../storage/sql/access/holders.ts";
import { lockLink } from "../../storage/sql/chat/chat-links.ts";
import type { Transaction } from "../../storage/store.ts";
import { mayAuthenticate } from "./mayAuthenticate.ts";

export interface CurrentCaller extends ReviewerCaller {
  /** Expiry of the token, epoch ms; null for sessions and tokens without one. */
  readonly expiresAt: number | null;
}

/**
 * Rereads and locks the caller and the token or link. So an earlier demotion, removal, disabling or
 * revocation is visible, and a later one waits for this transaction.
 *
 * @throws Problem `invalid_credential`
 */
export async function currentCaller(
  tx: Transaction,
  caller: ReviewerCaller,
): Promise<CurrentCaller> {
  const { projectId, reviewerId } = caller;
  const hasToken = caller.session === null && caller.chat === undefined;
  // Sent together and executed in this order, which is also the lock order of a removal.
  const [current, credential, isLinked] = await Promise.all([
    lockReviewer(tx, "share", { projectId, id: reviewerId }),
    hasToken ? lockToken(tx, caller) : undefined,
    caller.chat === undefined || lockChatLink(tx, caller),
  ]);
  if (!isLinked) throw new Problem("invalid_credential");
  if (hasToken && (credential === undefined || credential.revokedAt !== null)) {
    throw new Problem("invalid_credential");
  }
  if (current === undefined || !(await mayAuthenticate(tx, current))) {
    throw new Problem("invalid_credential");
  }
  const { name, role, groups, isBot } = current;
  return { ...caller, name, role, groups, isBot, expiresAt: credential?.expiresAt ?? null };
}

/** @returns false when the user of the chat is no longer linked to the reviewer */
async function lockChatLink(
  tx: Transaction,
  { projectId, credentialId, reviewerId }: ReviewerCaller,
): Promise<boolean> {
  const link = await lockLink(tx, "share", { projectId, id: credentialId });
  return link?.reviewerId === reviewerId;
}

function lockToken(tx: Transaction, { tokenHash, credentialId }: ReviewerCaller) {
  return tokenHash === undefined
    ? lockCredential(tx, "share", credentialId)
    : lockCredentialByHash(tx, "share", tokenHash);
}
