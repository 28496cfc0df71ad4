/** Verifies and uses the challenge that a passkey signed for a verdict. */

import { Problem } from "@countersign/protocol";
import type { PasskeyProof, SignedVerdict } from "../../audit/passkey-proof.ts";
import { sha256Hex } from "../../core/digest.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { isCounterRegressed } from "../../identity/passkeys.ts";
import { hashToken } from "../../secrets/token.ts";
import { takeCeremony } from "../../storage/sql/sign-in/ceremonies.ts";
import { lockPasskey, recordPasskeyUse } from "../../storage/sql/sign-in/passkeys.ts";
import type { Transaction } from "../../storage/store.ts";
import type { Signature, Verdict } from "./verdictNote.ts";

/** @returns the data that the passkey signs */
export function toSigned(requestId: string, verdict: Verdict, nonce: string): SignedVerdict {
  const { argumentsSha256, note, validityMs = null } = verdict;
  const noteSha256 = note === undefined ? null : sha256Hex(JSON.stringify(note));
  const said = { requestId, argumentsSha256, noteSha256, validForMs: validityMs };
  return { nonce, ...said, verdict: "approve" };
}

/**
 * Uses a signature for one verdict.
 *
 * @param now epoch ms, read after the lock of the request
 * @returns the proof to store
 * @throws Problem `passkey_refused` when it was already used or has expired, or its passkey was
 * removed or copied
 */
export async function useSignature(
  tx: Transaction,
  { personId }: ReviewerCaller,
  requestId: string,
  signature: Signature,
  now: number,
): Promise<PasskeyProof> {
  if (signature.kind === "refused") throw signature.problem;
  const { proof, counter } = signature;
  const passkey = await lockPasskey(tx, proof.credential_id);
  const isSame = passkey?.publicKey === proof.public_key && passkey.personId === personId;
  if (!isSame) throw refusal("This passkey is no longer registered to your account.");
  if (isCounterRegressed(passkey.counter, counter)) {
    throw refusal(COPIED);
  }
  const ceremony = await takeCeremony(tx, hashToken(proof.nonce), VERDICT_CEREMONY);
  const isOwn = ceremony?.personId === personId && ceremony.detail === detailOf(requestId);
  if (!isOwn || ceremony.expiresAt <= now) {
    throw refusal("The challenge was already used or has expired. Request a new one.");
  }
  await recordPasskeyUse(tx, passkey.id, counter, now);
  return proof;
}

/** Kind of the ceremonies for verdicts. */
export const VERDICT_CEREMONY = "verdict";

/** The stored detail of such a ceremony. */
export function detailOf(requestId: string): string {
  return JSON.stringify({ request: requestId });
}

const COPIED =
  "The signature counter of the passkey went backwards. The passkey may have been copied.";

export function refusal(message: string): Problem {
  return new Problem("passkey_refused", message, { param: "passkey" });
}
