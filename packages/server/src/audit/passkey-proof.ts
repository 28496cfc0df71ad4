/**
 * Checks that a passkey signed exactly this verdict, from an entry of the audit log alone: no
 * database, no clock, no library besides Node's own. Auditors who do not trust this server can read
 * it; it shares no code with the check of the signature at the verdict.
 *
 * It proves who signed what: not what their screen showed, and not whose passkey it is. The
 * entry `passkey.added` of the same credential id says who added the key.
 *
 * @see W3C Web Authentication Level 3, sections 6.1 (authenticator data) and 7.2 (assertions);
 *   docs/decisions/0016-passkey-signed-decisions.md
 */

import { createHash, verify } from "node:crypto";
import { CoseKeyError, readCoseKey } from "./cose-key.ts";

/** All that a signature is over. */
export interface SignedVerdict {
  /** Drawn by the server for this one signature. */
  readonly nonce: string;
  readonly requestId: string;
  /** Hex, of the exact arguments text. */
  readonly argumentsSha256: string;
  readonly verdict: "approve";
  /** Hex, of the note as a JSON string; null without one. */
  readonly noteSha256: string | null;
  /** How long the approval may be used at most, ms; null when the approver left it open. */
  readonly validForMs: number | null;
}

/** The member `passkey` of an entry, as it is written. */
export interface PasskeyProof {
  readonly credential_id: string;
  /** COSE key, base64url; so are the next three. */
  readonly public_key: string;
  readonly client_data: string;
  readonly authenticator_data: string;
  readonly signature: string;
  readonly nonce: string;
  readonly verdict: "approve";
  readonly arguments_sha256: string;
  readonly note_sha256: string | null;
  readonly valid_for_ms: number | null;
}

export type ProofFinding =
  | {
      readonly kind: "proven";
      readonly credentialId: string;
      readonly publicKey: string;
      /** Of the page on which it was signed, as the browser reported it. */
      readonly origin: string;
    }
  /** What is wrong, as a sentence without its full stop. */
  | { readonly kind: "refuted"; readonly fault: string };

/** The challenge that a passkey signs for a verdict, base64url. */
export function verdictChallenge(signed: SignedVerdict): string {
  const { nonce, requestId, argumentsSha256, verdict, noteSha256, validForMs } = signed;
  const said = [DOMAIN, nonce, requestId, argumentsSha256, verdict, noteSha256, validForMs];
  return createHash("sha256").update(JSON.stringify(said)).digest("base64url");
}

/** Stands in front, so that no signature for anything else can be taken for one of these. */
const DOMAIN = "countersign verdict v1";

/**
 * @param detail of an entry `vote.cast` or `request.resolved` that has a member `passkey`
 * @param requestId as the subject of the entry names it
 * @throws never
 */
export function verifyProof(
  detail: Readonly<Record<string, unknown>>,
  requestId: string,
): ProofFinding {
  try {
    const proof = readProof(detail.passkey);
    assertSameAsEntry(proof, detail);
    const challenge = verdictChallenge({
      nonce: proof.nonce,
      requestId,
      argumentsSha256: proof.arguments_sha256,
      verdict: proof.verdict,
      noteSha256: proof.note_sha256,
      validForMs: proof.valid_for_ms,
    });
    const clientData = bytes(proof.client_data, "client_data");
    const origin = readClientData(clientData, challenge);
    const authenticatorData = bytes(proof.authenticator_data, "authenticator_data");
    assertVerifiedUser(authenticatorData, origin);
    assertSigned(proof, authenticatorData, clientData);
    const { credential_id: credentialId, public_key: publicKey } = proof;
    return { kind: "proven", credentialId, publicKey, origin };
  } catch (error) {
    if (error instanceof Refuted) return { kind: "refuted", fault: error.message };
    if (error instanceof CoseKeyError) return { kind: "refuted", fault: error.message };
    throw error;
  }
}

class Refuted extends Error {}

const TEXTS = [
  "credential_id",
  "public_key",
  "client_data",
  "authenticator_data",
  "signature",
  "nonce",
  "arguments_sha256",
];

function readProof(value: unknown): PasskeyProof {
  if (!isRecord(value)) throw new Refuted("the entry has no member passkey");
  for (const name of TEXTS) {
    if (typeof value[name] !== "string") throw new Refuted(`passkey.${name} is not a string`);
  }
  const { verdict, note_sha256: noteSha256, valid_for_ms: validForMs } = value;
  if (verdict !== "approve") throw new Refuted("passkey.verdict is not approve");
  if (noteSha256 !== null && typeof noteSha256 !== "string") {
    throw new Refuted("passkey.note_sha256 is neither a string nor null");
  }
  if (validForMs !== null && !Number.isSafeInteger(validForMs)) {
    throw new Refuted("passkey.valid_for_ms is neither a whole number nor null");
  }
  bytes(String(value.credential_id), "credential_id");
  return value as unknown as PasskeyProof;
}

/** What was signed is what the entry says happened. */
function assertSameAsEntry(proof: PasskeyProof, detail: Readonly<Record<string, unknown>>): void {
  for (const name of ["arguments_sha256", "note_sha256"] as const) {
    if (proof[name] === detail[name]) continue;
    throw new Refuted(`${name} of the entry differs from what was signed`);
  }
  if (detail.status !== undefined && detail.status !== "approved") {
    throw new Refuted("the signature approves, and the entry does not");
  }
  if (detail.validity_ms !== undefined && detail.validity_ms !== proof.valid_for_ms) {
    throw new Refuted("validity_ms of the entry differs from what was signed");
  }
}

/** @returns the origin */
function readClientData(clientData: Buffer, challenge: string): string {
  const data = parseJson(clientData);
  if (!isRecord(data)) throw new Refuted("client_data is not a JSON object");
  if (data.type !== "webauthn.get")
    throw new Refuted("client_data does not belong to an assertion");
  if (data.challenge !== challenge) {
    throw new Refuted("the passkey signed another request, nonce, verdict, note or validity");
  }
  if (data.crossOrigin === true || data.topOrigin !== undefined) {
    throw new Refuted("it was signed in a page of another origin");
  }
  if (typeof data.origin !== "string" || !URL.canParse(data.origin)) {
    throw new Refuted("client_data has no origin");
  }
  return data.origin;
}

/** SHA-256 of the RP ID, flags, counter; what follows is extensions. */
const RP_ID_HASH_BYTES = 32;
const AUTHENTICATOR_DATA_BYTES = RP_ID_HASH_BYTES + 1 + 4;

const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const HAS_CREDENTIAL = 0x40;
const HAS_EXTENSIONS = 0x80;

function assertVerifiedUser(data: Buffer, origin: string): void {
  const flags = data[RP_ID_HASH_BYTES] ?? 0;
  const hasMore = (flags & HAS_EXTENSIONS) !== 0;
  const isWhole = hasMore
    ? data.length > AUTHENTICATOR_DATA_BYTES
    : data.length === AUTHENTICATOR_DATA_BYTES;
  if (!isWhole || (flags & HAS_CREDENTIAL) !== 0) {
    throw new Refuted("authenticator_data does not belong to an assertion");
  }
  const rpIdHash = createHash("sha256").update(new URL(origin).hostname).digest();
  if (!rpIdHash.equals(data.subarray(0, RP_ID_HASH_BYTES))) {
    throw new Refuted("the passkey belongs to another host than the one that used it");
  }
  if ((flags & USER_PRESENT) === 0) throw new Refuted("the user was not present");
  if ((flags & USER_VERIFIED) === 0) throw new Refuted("the user was not verified");
}

function assertSigned(
  { public_key: publicKey, signature }: PasskeyProof,
  authenticatorData: Buffer,
  clientData: Buffer,
): void {
  const { key, digest } = readCoseKey(bytes(publicKey, "public_key"));
  const signed = Buffer.concat([
    authenticatorData,
    createHash("sha256").update(clientData).digest(),
  ]);
  if (verify(digest, signed, key, bytes(signature, "signature"))) return;
  throw new Refuted("the signature does not match this public key and data");
}

/** Only the one spelling that its bytes have. */
function bytes(text: string, name: string): Buffer {
  const decoded = Buffer.from(text, "base64url");
  if (decoded.length > 0 && decoded.toString("base64url") === text) return decoded;
  throw new Refuted(`passkey.${name} is not base64url`);
}

function parseJson(source: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(source));
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
