import { Problem } from "@countersign/protocol";
import type { PasskeyProof, SignedVerdict } from "../../audit/passkey-proof.ts";
import { verdictChallenge, verifyProof } from "../../audit/passkey-proof.ts";
import type { Context } from "../../context.ts";
import { assertMayVote } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import {
  type BrowserCredential,
  credentialIdOf,
  PasskeyRefused,
  type RelyingParty,
  verifyAssertion,
} from "../../identity/passkeys.ts";
import { passkeyRefusal } from "../../policy/decider.ts";
import { refusal, toSigned } from "../../steps/requests/useSignature.ts";
import type { Signature, Verdict } from "../../steps/requests/verdictNote.ts";
import { readPasskey } from "../../storage/sql/sign-in/passkeys.ts";
import type { Reader } from "../../storage/store.ts";

/** The signature in a verdict. */
export interface SignedAnswer {
  /** From the challenge. */
  readonly nonce: string;
  readonly assertion: BrowserCredential;
}

/**
 * Verifies a passkey signature against its verdict: the challenge is recomputed from the verdict.
 * Slow and asynchronous, so it runs before the transaction; {@link useSignature} completes it
 * there.
 *
 * @returns undefined for a verdict without a signature
 * @throws Problem `forbidden` for a token, and for callers who may not decide
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
    throw new PasskeyRefused("This passkey is not registered to your account.");
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
  // Stores only proofs that an auditor can verify in the same way.
  const detail = { ...proof, passkey: proof };
  const finding = verifyProof(detail, signed.requestId);
  if (finding.kind === "refuted")
    throw new PasskeyRefused(`The signature does not prove the approval: ${finding.fault}.`);
  return { kind: "signed", proof, counter: assertion.counter };
}
