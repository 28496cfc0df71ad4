/**
 * Signed notes and checkpoints in the formats of public transparency logs, so that their tools can
 * read them: https://c2sp.org/signed-note, https://c2sp.org/tlog-checkpoint.
 */

import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from "node:crypto";
import { promisify } from "node:util";
import { HASH_BYTES, type TreeHead } from "./merkle.ts";

/** The algorithm byte before a public key. */
const ED25519 = 1;

export const SEED_BYTES = 32;

const verifyInThread = promisify(verify);

const PUBLIC_KEY_BYTES = 32;
const KEY_HASH_BYTES = 4;

/** Name and private key that sign a note. */
export interface Signer {
  /** Name of the key: the origin of its log. */
  readonly name: string;
  readonly privateKey: KeyObject;
}

/** Name and Ed25519 public key that verify a note. */
export interface Verifier {
  readonly name: string;
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
}

/** The size and root of a log. */
export interface Checkpoint extends TreeHead {
  readonly origin: string;
}

/** PKCS #8 for Ed25519: a constant prefix, then the 32-byte seed. */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");

/** @param seed 32 secret bytes */
export function privateKeyOf(seed: Uint8Array): KeyObject {
  const key = Buffer.concat([PKCS8_PREFIX, seed]);
  return createPrivateKey({ key, format: "der", type: "pkcs8" });
}

/** @returns 32 bytes */
export function publicKeyOf(privateKey: KeyObject): Uint8Array {
  const { x = "" } = createPublicKey(privateKey).export({ format: "jwk" });
  return Buffer.from(x, "base64url");
}

/** The verifier key as one line: `name+hash+key`. */
export function writeVerifier(verifier: Verifier): string {
  const key = Buffer.concat([Buffer.of(ED25519), verifier.publicKey]).toString("base64");
  return `${verifier.name}+${keyHash(verifier).toString("hex")}+${key}`;
}

const VERIFIER = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$/;

/** @returns undefined when the text is malformed or its hash does not match */
export function readVerifier(text: string): Verifier | undefined {
  const [, name = "", written, encoded = ""] = VERIFIER.exec(text) ?? [];
  const bytes = Buffer.from(encoded, "base64");
  if (bytes[0] !== ED25519 || bytes.length !== 1 + PUBLIC_KEY_BYTES) return undefined;
  const verifier = { name, publicKey: bytes.subarray(1) };
  return keyHash(verifier).toString("hex") === written ? verifier : undefined;
}

/** @returns the checkpoint as a signed note, with a trailing newline */
export function signCheckpoint(
  { size, root }: TreeHead,
  { name, privateKey }: Signer,
  publicKey: Uint8Array,
): string {
  const text = `${name}\n${size}\n${Buffer.from(root).toString("base64")}\n`;
  const signature = sign(null, Buffer.from(text), privateKey);
  const signed = Buffer.concat([keyHash({ name, publicKey }), signature]).toString("base64");
  return `${text}\n\u2014 ${name} ${signed}\n`;
}

const CHECKPOINT =
  /^([^\n]+)\n(0|[1-9]\d{0,15})\n([A-Za-z0-9+/]{43}=)\n((?:[^\n]+\n)*)\n((?:\u2014 [^\n]+\n)+)$/;

/** @returns the content, without a check of the signature; undefined for other texts */
export function readCheckpoint(note: string): Checkpoint | undefined {
  const [, origin, size, encoded = ""] = CHECKPOINT.exec(note) ?? [];
  if (origin === undefined) return undefined;
  const root = Buffer.from(encoded, "base64");
  // Several base64 texts can encode the same bytes; only one is accepted.
  if (root.length !== HASH_BYTES || root.toString("base64") !== encoded) return undefined;
  return { origin, size: Number(size), root };
}

/** True when the note has a valid signature of this key and no invalid one with its name. */
export function isSignedBy(note: string, verifier: Verifier): boolean {
  const { text, signatures } = splitNote(note, verifier);
  const { key } = preparedOf(verifier);
  return signatures.length > 0 && signatures.every((each) => verify(null, text, key, each));
}

/** As {@link isSignedBy}, in other threads: for the many notes of a log. */
export async function isSignedByAsync(note: string, verifier: Verifier): Promise<boolean> {
  const { text, signatures } = splitNote(note, verifier);
  const { key } = preparedOf(verifier);
  const valid = await Promise.all(signatures.map((each) => verifyInThread(null, text, key, each)));
  return valid.length > 0 && valid.every(Boolean);
}

interface SplitNote {
  readonly text: Buffer;
  /** Of the given key. */
  readonly signatures: readonly Buffer[];
}

function splitNote(note: string, verifier: Verifier): SplitNote {
  const end = note.lastIndexOf("\n\n");
  const text = Buffer.from(note.slice(0, end + 1));
  const lines = note.slice(end + 2).split("\n");
  return { text, signatures: lines.flatMap((line) => signatureOf(line, verifier) ?? []) };
}

/** @returns undefined for signatures of other keys */
function signatureOf(line: string, verifier: Verifier): Buffer | undefined {
  const prefix = `\u2014 ${verifier.name} `;
  if (!line.startsWith(prefix)) return undefined;
  const bytes = Buffer.from(line.slice(prefix.length), "base64");
  const isOfKey = bytes.subarray(0, KEY_HASH_BYTES).equals(preparedOf(verifier).keyHash);
  return isOfKey ? bytes.subarray(KEY_HASH_BYTES) : undefined;
}

interface Prepared {
  readonly key: KeyObject;
  readonly keyHash: Buffer;
}

/** A log has as many signatures of one key as seals. */
const prepared = new WeakMap<Verifier, Prepared>();

function preparedOf(verifier: Verifier): Prepared {
  const known = prepared.get(verifier);
  if (known !== undefined) return known;
  const made = { key: keyObjectOf(verifier.publicKey), keyHash: keyHash(verifier) };
  prepared.set(verifier, made);
  return made;
}

function keyHash({ name, publicKey }: Verifier): Buffer {
  const bytes = Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(ED25519), publicKey]);
  return hash("sha256", bytes, "buffer").subarray(0, KEY_HASH_BYTES);
}

function keyObjectOf(publicKey: Uint8Array): KeyObject {
  const x = Buffer.from(publicKey).toString("base64url");
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
}
