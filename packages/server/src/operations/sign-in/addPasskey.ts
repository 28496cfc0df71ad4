import { Problem } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { Context } from "../../context.ts";
import { assertFresh } from "../../identity/assert-fresh.ts";
import type { SignedIn } from "../../identity/caller.ts";
import {
  type BrowserAnswer,
  challengeOf,
  type NewCredential,
  PasskeyRefused,
  type RelyingParty,
  verifyCreation,
} from "../../identity/passkeys.ts";
import { hashToken } from "../../secrets/token.ts";
import type { BindKey } from "../../steps/sign-in/useInvitation.ts";
import { lockPerson } from "../../storage/sql/people/people.ts";
import { takeCeremony } from "../../storage/sql/sign-in/ceremonies.ts";
import {
  insertPasskey,
  listPasskeysOf,
  type StoredPasskey,
} from "../../storage/sql/sign-in/passkeys.ts";
import type { Transaction } from "../../storage/store.ts";
import { ADD_CEREMONY, assertRoom, CHANGE_PASSKEYS, LINK_CEREMONY } from "./beginPasskey.ts";

/**
 * Gives somebody who has just signed in one more passkey.
 *
 * @param name how its owner will tell it from others
 * @throws Problem `passkey_refused` when the answer is not to a challenge of theirs, `forbidden`
 *   when the sign-in is not fresh or there are too many passkeys
 */
export async function addPasskey(
  context: Context,
  party: RelyingParty,
  { session, person }: SignedIn,
  answer: BrowserAnswer,
  name: string,
): Promise<StoredPasskey> {
  const { credential, challenge } = await verifyNew(party, answer);
  return context.store.transact(async (tx) => {
    await lockPerson(tx, "update", person.id);
    const now = await tx.now();
    assertFresh(session, now, CHANGE_PASSKEYS);
    await endCeremony(tx, ADD_CEREMONY, challenge, now, { personId: person.id });
    assertRoom((await listPasskeysOf(tx, person.id)).length);
    return writePasskey(tx, context, person.id, credential, name, now);
  });
}

/**
 * For who comes with a link: verifies the passkey, and binds it when the link is used.
 *
 * @param token of the link
 * @throws Problem `passkey_refused`; so does what is returned
 */
export async function bindPasskey(
  context: Context,
  party: RelyingParty,
  token: string,
  answer: BrowserAnswer,
  name: string,
): Promise<BindKey> {
  const { credential, challenge } = await verifyNew(party, answer);
  return async (tx, person, now) => {
    const subject = hashToken(token);
    await endCeremony(tx, LINK_CEREMONY, challenge, now, { personId: null, subject });
    await writePasskey(tx, context, person.id, credential, name, now);
  };
}

async function verifyNew(
  party: RelyingParty,
  answer: BrowserAnswer,
): Promise<{ readonly credential: NewCredential; readonly challenge: string }> {
  try {
    const challenge = challengeOf(answer);
    return { credential: await verifyCreation(party, answer, challenge), challenge };
  } catch (error) {
    throw toRefusal(error);
  }
}

/** @returns what to throw in place of what identity/passkeys.ts has thrown */
export function toRefusal(error: unknown): unknown {
  if (!(error instanceof PasskeyRefused)) return error;
  return new Problem("passkey_refused", error.message);
}

/**
 * Ends the ceremony in which a browser answered this challenge.
 *
 * @param now epoch ms, behind the locks
 * @throws Problem `passkey_refused` when it was answered before, is too old, or somebody else's
 */
export async function endCeremony(
  tx: Transaction,
  kind: string,
  challenge: string,
  now: number,
  { personId, subject = "" }: { readonly personId: string | null; readonly subject?: string },
): Promise<void> {
  const ceremony = await takeCeremony(tx, hashToken(challenge), kind);
  const isOwn = ceremony?.personId === personId && ceremony.detail === JSON.stringify({ subject });
  if (isOwn && now < ceremony.expiresAt) return;
  const message = "The challenge was answered already or is too old: ask for a new one.";
  throw new Problem("passkey_refused", message);
}

async function writePasskey(
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
    throw new Problem("passkey_refused", "This passkey is there already.");
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
