/**
 * Parses public keys of passkeys: a COSE key, which is a CBOR map, becomes a Node key. Parses only
 * what the three algorithms need, and rejects everything else.
 *
 * @see RFC 9052 section 7, RFC 9053 section 2, RFC 8230 section 4, RFC 8949 section 3
 */

import { createPublicKey, type JsonWebKey, type KeyObject } from "node:crypto";

/** The fault of a key, as a sentence without a full stop. */
export class CoseKeyError extends Error {}

export interface SignatureKey {
  readonly key: KeyObject;
  /** For `verify` of node:crypto. EdDSA includes its hash. */
  readonly digest: "sha256" | null;
}

/** COSE algorithms: ECDSA with P-256 and SHA-256, Ed25519, RSASSA-PKCS1-v1_5 with SHA-256. */
export const ES256 = -7;
export const EDDSA = -8;
export const RS256 = -257;

/** @throws CoseKeyError unless it is a key of one of the three algorithms */
export function readCoseKey(source: Uint8Array): SignatureKey {
  const map = readMap(source);
  const algorithm = map.get(3);
  try {
    return {
      key: createPublicKey({ key: toJwk(map), format: "jwk" }),
      digest: algorithm === EDDSA ? null : "sha256",
    };
  } catch (error) {
    if (error instanceof CoseKeyError) throw error;
    throw new CoseKeyError("the public key is not valid for its algorithm");
  }
}

type CoseMap = ReadonlyMap<number, number | Uint8Array>;

/** Labels: 1 key type, 3 algorithm. The others depend on the key type. */
function toJwk(map: CoseMap): JsonWebKey {
  switch (map.get(3)) {
    case ES256:
      assertMembers(map, { 1: 2, "-1": 1 }, [-2, -3]);
      return { kty: "EC", crv: "P-256", x: text(map, -2, 32), y: text(map, -3, 32) };
    case EDDSA:
      assertMembers(map, { 1: 1, "-1": 6 }, [-2]);
      return { kty: "OKP", crv: "Ed25519", x: text(map, -2, 32) };
    case RS256:
      assertMembers(map, { 1: 3 }, [-1, -2]);
      assertLongEnough(map);
      return { kty: "RSA", n: text(map, -1), e: text(map, -2) };
    default:
      throw new CoseKeyError("the algorithm of the public key is not ES256, EdDSA or RS256");
  }
}

function assertMembers(
  map: CoseMap,
  numbers: Readonly<Record<string, number>>,
  strings: readonly number[],
): void {
  for (const [label, value] of Object.entries(numbers)) {
    if (map.get(Number(label)) === value) continue;
    throw new CoseKeyError("the public key has another type or curve than its algorithm");
  }
  if (map.size === Object.keys(numbers).length + strings.length + 1) return;
  throw new CoseKeyError("the public key has members that do not belong to its algorithm");
}

/** Minimum size of an RSA modulus: 2,048 bits. */
const MODULUS_BYTES_MIN = 256;

function assertLongEnough(map: CoseMap): void {
  const modulus = map.get(-1);
  if (modulus instanceof Uint8Array && modulus.length >= MODULUS_BYTES_MIN) return;
  throw new CoseKeyError("the public key is too short for RS256");
}

function text(map: CoseMap, label: number, length?: number): string {
  const value = map.get(label);
  const isRight = value instanceof Uint8Array && value.length === (length ?? value.length);
  if (!isRight) throw new CoseKeyError("the public key lacks a number or has one of a wrong size");
  return Buffer.from(value).toString("base64url");
}

/** A map from integers to integers and byte strings, without trailing bytes. */
function readMap(source: Uint8Array): CoseMap {
  const reader = { source, at: 0 };
  const { major, value: count } = readHead(reader);
  if (major !== 5) throw new CoseKeyError("the public key is not a COSE key");
  const map = new Map<number, number | Uint8Array>();
  for (let i = 0; i < count; i++) {
    const label = readItem(reader);
    if (typeof label !== "number" || map.has(label)) {
      throw new CoseKeyError("the public key has a duplicate label, or one that is not a number");
    }
    map.set(label, readItem(reader));
  }
  if (reader.at === source.length) return map;
  throw new CoseKeyError("the public key has trailing bytes");
}

interface CborReader {
  readonly source: Uint8Array;
  at: number;
}

function readItem(reader: CborReader): number | Uint8Array {
  const { major, value } = readHead(reader);
  if (major === 0) return value;
  if (major === 1) return -1 - value;
  if (major !== 2) throw new CoseKeyError("a value of the public key has a wrong type");
  reader.at += value;
  if (reader.at > reader.source.length) throw new CoseKeyError("the public key is truncated");
  return reader.source.subarray(reader.at - value, reader.at);
}

/** CBOR major type and argument, of at most two bytes. No supported key has a longer one. */
function readHead(reader: CborReader): { readonly major: number; readonly value: number } {
  const head = nextByte(reader);
  const short = head & 0x1f;
  const major = head >> 5;
  if (short < 24) return { major, value: short };
  if (short > 25) throw new CoseKeyError("the public key is not a COSE key");
  const high = nextByte(reader);
  return { major, value: short === 24 ? high : high * 256 + nextByte(reader) };
}

function nextByte(reader: CborReader): number {
  const byte = reader.source[reader.at++];
  if (byte === undefined) throw new CoseKeyError("the public key is truncated");
  return byte;
}
