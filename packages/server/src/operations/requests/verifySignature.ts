import { Problem } from "@countersign/protocol";
import type { PasskeyProof, SignedVerdict } from "../../audit/passkey-proof.ts";
import { verdictChallenge, verifyProof } from "../../audit/passkey-proof.ts";
import type { Context } from "../../context.ts";
import { sha256Hex } from "../../core/digest.ts";
import { assertMayVote } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import {
  type BrowserAnswer,
  credentialIdOf,
  isCounterBehind,
  PasskeyRefused,
  type RelyingParty,
  verifyAssertion,
} from "../../identity/passkeys.ts";
import { passkeyRefusal } from "../../policy/decider.ts";
import { hashToken } from "../../secrets/token.ts";
import type { Signature, Verdict } from "../../steps/requests/verdictNote.ts";
import { takeCeremony } from "../../storage/sql/sign-in/ceremonies.ts";
import { lockPasskey, readPasskey, recordPasskeyUse } from "../../storage/sql/sign-in/passkeys.ts";
import type { Reader, Transaction } from "../../storage/store.ts";

/** What comes with a verdict that a passkey signed. */
export interface SignedAnswer {
  /** As it was given with the challenge. */
  readonly nonce: string;
  readonly assertion: BrowserAnswer;
}

/** @returns what the passkey is to sign */
export function toSigned(requestId: string, verdict: Verdict, nonce: string): SignedVerdict {
  const { argumentsSha256, note, validityMs = null } = verdict;
  const noteSha256 = note === undefined ? null : sha256Hex(JSON.stringify(note));
  const said = { requestId, argumentsSha256, noteSha256, validForMs: validityMs };
  return { nonce, ...said, verdict: "approve" };
}

/**
 * Verifies what a passkey signed against the verdict that it came with: the challenge is computed
 * anew from that. Slow and asynchronous, so before the transaction; {@link useSignature} is the
 * rest, in it.
 *
 * @returns undefined for a verdict without a signature
 * @throws Problem `forbidden` for a token, and for who may not decide
 */
export async function verifySignature(
  { store }: Pick<Context, "store">,
  party: RelyingParty,
  caller: ReviewerCaller,
  requestId: string,
  verdict: Verdict,
  answer: SignedAnswer | undefined,
): Promise<Signature | undefined> {
  if (answer === undefined) return undefined;
  assertMayVote(caller);
  const refused = passkeyRefusal({ isPerson: caller.session !== null, hasPasskey: true });
  if (refused !== undefined) throw new Problem("forbidden", refused);
  try {
    const signed = toSigned(requestId, verdict, answer.nonce);
    return await verify(store, party, caller, signed, answer);
  } catch (error) {
    if (!(error instanceof PasskeyRefused)) throw error;
    return { kind: "refused", problem: refusal(error.message) };
  }
}

async function verify(
  store: Reader,
  party: RelyingParty,
  { personId }: ReviewerCaller,
  signed: SignedVerdict,
  { nonce, assertion: answer }: SignedAnswer,
): Promise<Signature> {
  const passkey = await readPasskey(store, credentialIdOf(answer));
  if (passkey === undefined || passkey.personId !== personId) {
    throw new PasskeyRefused("This is none of your passkeys.");
  }
  const { publicKey } = passkey;
  const challenge = verdictChallenge(signed);
  const assertion = await verifyAssertion(party, answer, challenge, publicKey);
  const proof: PasskeyProof = {
    credential_id: passkey.id,
    public_key: publicKey,
    client_data: assertion.clientData,
    authenticator_data: assertion.authenticatorData,
    signature: assertion.signature,
    nonce,
    verdict: "approve",
    arguments_sha256: signed.argumentsSha256,
    note_sha256: signed.noteSha256,
    valid_for_ms: signed.validForMs,
  };
  // Nothing is stored that an outsider could not verify in the same way.
  const detail = { ...proof, passkey: proof };
  const finding = verifyProof(detail, signed.requestId);
  if (finding.kind === "refuted")
    throw new PasskeyRefused(`It would prove nothing: ${finding.fault}.`);
  return { kind: "signed", proof, counter: assertion.counter };
}

/**
 * Uses a signature up, so that it stands for one verdict only.
 *
 * @param now epoch ms, behind the lock of the request
 * @returns what is kept of it
 * @throws Problem `passkey_refused` when it was used before or came too late, or its passkey was
 *   removed or has been copied
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
  if (!isSame) throw refusal("This is none of your passkeys any more.");
  if (isCounterBehind(passkey.counter, counter)) {
    throw refusal(COPIED);
  }
  const ceremony = await takeCeremony(tx, hashToken(proof.nonce), VERDICT_CEREMONY);
  const isOwn = ceremony?.personId === personId && ceremony.detail === detailOf(requestId);
  if (!isOwn || ceremony.expiresAt <= now) {
    throw refusal("The challenge was used already or is too old: ask for a new one.");
  }
  await recordPasskeyUse(tx, passkey.id, counter, now);
  return proof;
}

/** Kind of the ceremonies that end in a verdict. */
export const VERDICT_CEREMONY = "verdict";

/** What is kept of such a ceremony. */
export function detailOf(requestId: string): string {
  return JSON.stringify({ request: requestId });
}

const COPIED =
  "The passkey counts its signatures and has counted backwards: is there a copy of it?";

function refusal(message: string): Problem {
  return new Problem("passkey_refused", message, { param: "passkey" });
}
