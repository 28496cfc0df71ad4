/** Generates the challenge of a passkey ceremony, and ends the ceremony with its answer. */

import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { CEREMONY_MS_MAX } from "../../identity/passkeys.ts";
import { hashToken } from "../../secrets/token.ts";
import { insertCeremony, takeCeremony } from "../../storage/sql/sign-in/ceremonies.ts";
import type { Transaction } from "../../storage/store.ts";

const CHALLENGE_BYTES = 32;

/** Kinds of the ceremonies that create a passkey: for an account, and for a link. */
export const ADD_CEREMONY = "passkey.add";

export const LINK_CEREMONY = "passkey.link";

/**
 * Generates a challenge that can be answered once, within a time limit.
 *
 * @param subject its purpose, besides the user
 */
export async function startCeremony(
  { store, random }: Pick<Context, "store" | "random">,
  kind: string,
  personId: string | null,
  subject = "",
): Promise<Uint8Array> {
  const challenge = random.bytes(CHALLENGE_BYTES);
  const id = hashToken(Buffer.from(challenge).toString("base64url"));
  await store.transact(async (tx) => {
    const expiresAt = (await tx.now()) + CEREMONY_MS_MAX;
    await insertCeremony(tx, {
      id,
      kind,
      personId,
      detail: JSON.stringify({ subject }),
      expiresAt,
    });
  }, "process");
  return challenge;
}

/**
 * Ends the ceremony of this challenge.
 *
 * @param now epoch ms, read after the locks
 * @throws Problem `passkey_refused` when it was already answered, has expired, or belongs to
 * another user
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
  const message = "The challenge was already used or has expired. Request a new one.";
  throw new Problem("passkey_refused", message);
}
