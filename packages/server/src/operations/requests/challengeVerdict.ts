import { Problem } from "@countersign/protocol";
import { verdictChallenge } from "../../audit/passkey-proof.ts";
import type { Context } from "../../context.ts";
import { sha256Hex } from "../../core/digest.ts";
import { assertMayVote } from "../../identity/assert-may.ts";
import type { ReviewerCaller } from "../../identity/caller.ts";
import { CEREMONY_MS_MAX, type RelyingParty, requestOptions } from "../../identity/passkeys.ts";
import { passkeyRefusal } from "../../policy/decider.ts";
import { hashToken } from "../../secrets/token.ts";
import { detailOf, toSigned, VERDICT_CEREMONY } from "../../steps/requests/useSignature.ts";
import type { Verdict } from "../../steps/requests/verdictNote.ts";
import { readRequest } from "../../storage/sql/requests/requests.ts";
import { insertCeremony } from "../../storage/sql/sign-in/ceremonies.ts";
import { listPasskeysOf } from "../../storage/sql/sign-in/passkeys.ts";

const NONCE_BYTES = 32;

export interface VerdictChallenge {
  /** To send with the verdict. */
  readonly nonce: string;
  /** For `navigator.credentials.get`, as JSON text. */
  readonly options: string;
  /** Epoch ms. */
  readonly expiresAt: number;
}

/**
 * The challenge for a passkey of the caller, which approves exactly this verdict. Other arguments,
 * another note or validity need another challenge.
 *
 * @param verdict without its signature
 * @throws Problem `forbidden` when the caller cannot sign, `not_found` outside their project,
 * `already_terminal`, `arguments_mismatch`, `invalid_request` for a denial
 */
export async function challengeVerdict(
  context: Context,
  party: RelyingParty,
  caller: ReviewerCaller,
  id: string,
  verdict: Verdict,
): Promise<VerdictChallenge> {
  assertMayVote(caller);
  if (verdict.verdict === "deny") {
    const message = "verdict must be approve: a denial needs no passkey.";
    throw new Problem("invalid_request", message, { param: "verdict" });
  }
  const { store, random } = context;
  const { personId, projectId } = caller;
  const passkeys = personId === null ? [] : await listPasskeysOf(store, personId);
  const refusal = passkeyRefusal({
    isPerson: caller.session !== null,
    hasPasskey: passkeys.length > 0,
  });
  if (refusal !== undefined) throw new Problem("forbidden", refusal);
  const request = await readRequest(store, { projectId, id });
  if (request === undefined) throw new Problem("not_found");
  if (request.decision !== null) {
    const message = `The request is already ${request.decision.status}.`;
    throw new Problem("already_terminal", message);
  }
  if (sha256Hex(request.arguments) !== verdict.argumentsSha256) {
    throw new Problem("arguments_mismatch", undefined, { param: "arguments_sha256" });
  }
  const nonce = Buffer.from(random.bytes(NONCE_BYTES)).toString("base64url");
  const challenge = Buffer.from(verdictChallenge(toSigned(id, verdict, nonce)), "base64url");
  const options = await requestOptions(party, passkeys, challenge);
  const expiresAt = await store.transact(async (tx) => {
    const until = (await tx.now()) + CEREMONY_MS_MAX;
    const ceremony = { kind: VERDICT_CEREMONY, personId, detail: detailOf(id), expiresAt: until };
    await insertCeremony(tx, { id: hashToken(nonce), ...ceremony });
    return until;
  }, "process");
  return { nonce, options, expiresAt };
}
