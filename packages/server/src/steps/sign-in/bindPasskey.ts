/** Verifies a new passkey and stores it for a person. */

import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import {
  type BrowserCredential,
  challengeOf,
  type NewCredential,
  PasskeyRefused,
  type RelyingParty,
  verifyCreation,
} from "../../identity/passkeys.ts";
import { hashToken } from "../../secrets/token.ts";
import { insertPasskey, type StoredPasskey } from "../../storage/sql/sign-in/passkeys.ts";
import type { Transaction } from "../../storage/store.ts";
import { endCeremony, LINK_CEREMONY } from "./startCeremony.ts";
import type { BindKey } from "./useInvitation.ts";

/**
 * Verifies the passkey of a user with a link. The result binds it when the link is used.
 *
 * @param token of the link
 * @throws Problem `passkey_refused`; so does the returned function
 */
export async function bindPasskey(
  context: Context,
  party: RelyingParty,
  token: string,
  answer: BrowserCredential,
  name: string,
): Promise<BindKey> {
  const { credential, challenge } = await verifyNew(party, answer);
  return async (tx, person, now) => {
    const subject = hashToken(token);
    await endCeremony(tx, LINK_CEREMONY, challenge, now, { personId: null, subject });
    await writePasskey(tx, context, person.id, credential, name, now);
  };
}

export async function verifyNew(
  party: RelyingParty,
  answer: BrowserCredential,
): Promise<{ readonly credential: NewCredential; readonly challenge: string }> {
  try {
    const challenge = challengeOf(answer);
    return { credential: await verifyCreation(party, answer, challenge), challenge };
  } catch (error) {
    throw toRefusal(error);
  }
}

/** @returns the error to throw instead of the one from identity/passkeys.ts */
export function toRefusal(error: unknown): unknown {
  if (!(error instanceof PasskeyRefused)) return error;
  return new Problem("passkey_refused", error.message);
}

export async function writePasskey(
  tx: Transaction,
  { random }: Pick<Context, "random">,
  personId: string,
  { id, publicKey, counter, transports }: NewCredential,
  name: string,
  now: number,
): Promise<StoredPasskey> {
  const row = { id, personId, name, publicKey, counter, transports };
  const passkey: StoredPasskey = { ...row, createdAt: now, usedAt: null };
  if (!(await insertPasskey(tx, passkey))) {
    throw new Problem("passkey_refused", "This passkey is already registered.");
  }
  await appendAudit(tx, random, {
    at: now,
    projectId: "",
    kind: "passkey.added",
    actor: `person:${personId}`,
    subject: `passkey:${id}`,
    detail: { person_id: personId, credential_id: id, public_key: publicKey },
  });
  return passkey;
}
