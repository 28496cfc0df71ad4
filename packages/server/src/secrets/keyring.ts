/**
 * The keys that protect stored secrets: encryption of credentials (a provisioning replay must
 * return the original token for 168 hours), and fingerprints of inputs that may contain a secret.
 * Encryption keys are derived from master keys, which are never in the database. The fingerprint
 * key is an encrypted value of the database. It survives every rotation, because replays must be
 * recognized after one.
 */

import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hash,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from "node:crypto";
import { parseSigningSecret } from "@countersign/protocol";
import { Failure } from "../failure.ts";
import { RecentlyUsed } from "../recently-used.ts";

const MASTER_KEY_BYTES = 32;
const FINGERPRINT_KEY_BYTES = 32;
const ROW_KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** About 200 bytes each. */
const SIGNING_KEYS_MAX = 10_000;

const ENCRYPTED = /^([0-9a-f]{8})\.([A-Za-z0-9_-]+)$/;

interface DerivedKeys {
  /** A key object, because decrypting with raw bytes takes four times as long (Node 24.21). */
  readonly encryption: KeyObject;
  readonly fingerprinting: Buffer;
}

export class Keyring {
  /** Identifies the current master key in ciphertexts, without revealing the key. */
  readonly keyId: string;
  readonly previousKeyIds: readonly string[];
  readonly #keys = new Map<string, DerivedKeys>();
  /** Decrypted signing keys, least recently used first. */
  readonly #signingKeys = new RecentlyUsed<string, KeyObject>(SIGNING_KEYS_MAX);
  #fingerprinting: Uint8Array | undefined;

  /**
   * @param current 32 random bytes, which encrypt
   * @param previous older keys, which only decrypt
   * @throws Failure when a key has another length
   */
  constructor(current: Uint8Array, previous: readonly Uint8Array[] = []) {
    for (const key of [current, ...previous]) this.#keys.set(masterKeyId(key), deriveKeys(key));
    this.keyId = masterKeyId(current);
    this.previousKeyIds = [...this.#keys.keys()].filter((keyId) => keyId !== this.keyId);
  }

  knows(keyId: string): boolean {
    return this.#keys.has(keyId);
  }

  /**
   * Encrypts with AES-256-GCM and the current key.
   *
   * @param context object of the secret; a ciphertext does not decrypt in another context
   */
  encrypt(secret: string, context: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.#keyOf(this.keyId).encryption, nonce);
    cipher.setAAD(Buffer.from(`${this.keyId} ${context}`));
    const encrypted = Buffer.concat([nonce, cipher.update(secret, "utf8"), cipher.final()]);
    const tagged = Buffer.concat([encrypted, cipher.getAuthTag()]);
    return `${this.keyId}.${tagged.toString("base64url")}`;
  }

  /**
   * Decrypts with the key that encrypted the text.
   *
   * @throws Failure when that key is missing, or the text was altered or moved
   */
  decrypt(text: string, context: string): string {
    const [, keyId = "", encoded = ""] = ENCRYPTED.exec(text) ?? [];
    if (keyId === "") throw new Failure("secret-key", "an encrypted secret was altered");
    const { encryption } = this.#keyOf(keyId);
    const bytes = Buffer.from(encoded, "base64url");
    try {
      const nonce = bytes.subarray(0, NONCE_BYTES);
      const decipher = createDecipheriv("aes-256-gcm", encryption, nonce);
      decipher.setAAD(Buffer.from(`${keyId} ${context}`));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      const body = bytes.subarray(NONCE_BYTES, -TAG_BYTES);
      return decipher.update(body, undefined, "utf8") + decipher.final("utf8");
    } catch (error) {
      throw new Failure("secret-key", "an encrypted secret was altered", error);
    }
  }

  /**
   * As `decrypt`, for a signing secret. Returns a key object and caches the most recently used
   * ones: decrypting takes several times as long as signing.
   *
   * @throws Failure also when it is not a signing secret
   */
  decryptSigningKey(text: string, context: string): KeyObject {
    const name = `${context} ${text}`;
    const known = this.#signingKeys.get(name);
    if (known !== undefined) return known;
    const key = signingKeyOf(this.decrypt(text, context));
    this.#signingKeys.set(name, key);
    return key;
  }

  /** Sets the fingerprint key of the database. */
  useFingerprintKey(key: Uint8Array): void {
    this.#fingerprinting = key;
  }

  /**
   * The fingerprint key of schema 1, which was derived from the master key.
   *
   * @throws Failure when that master key is missing
   */
  derivedFingerprintKey(keyId: string): Uint8Array {
    return this.#keyOf(keyId).fingerprinting;
  }

  /** A keyed hash: it recognizes equal inputs without revealing them. */
  fingerprint(text: string): string {
    if (this.#fingerprinting === undefined) throw new Error("no fingerprint key is set");
    return createHmac("sha256", this.#fingerprinting).update(text).digest("base64url");
  }

  #keyOf(keyId: string): DerivedKeys {
    const keys = this.#keys.get(keyId);
    if (keys !== undefined) return keys;
    const known = [this.keyId, ...this.previousKeyIds].join(", ");
    const message = `a secret was encrypted with key ${keyId}, but the server has ${known}`;
    throw new Failure("secret-key", message);
  }
}

/**
 * @param secret `whsec_...`
 * @throws Failure when it is malformed
 */
export function signingKeyOf(secret: string): KeyObject {
  const key = parseSigningSecret(secret);
  if (key === undefined) throw new Failure("secret-key", "a stored signing secret is malformed");
  // A key object, because raw bytes take four times as long (Node 24.21).
  return createSecretKey(key);
}

/** The id of the key that encrypted a text; undefined for any other text. */
export function keyIdOf(encrypted: string): string | undefined {
  return ENCRYPTED.exec(encrypted)?.[1];
}

/** @throws Failure when the key has another length */
export function masterKeyId(masterKey: Uint8Array): string {
  if (masterKey.length !== MASTER_KEY_BYTES) {
    throw new Failure("secret-key", `a secret key must be ${MASTER_KEY_BYTES} bytes`);
  }
  return derive(masterKey, "key id").toString("hex").slice(0, 8);
}

/** The stored form of an Idempotency-Key: bounded length, not reversible. */
export function hashIdempotencyKey(key: string): string {
  return hash("sha256", key, "base64url");
}

const REQUEST_KEY_CHARS = 32;

/** Hash of a request's Idempotency-Key and scope, 192 bits. */
export function hashRequestKey(instanceId: string, key: string): string {
  return hash("sha256", `${instanceId} ${key}`, "base64url").slice(0, REQUEST_KEY_CHARS);
}

export function createMasterKey(): Uint8Array {
  return randomBytes(MASTER_KEY_BYTES);
}

export function createRowKey(): Uint8Array {
  return randomBytes(ROW_KEY_BYTES);
}

export function createFingerprintKey(): Uint8Array {
  return randomBytes(FINGERPRINT_KEY_BYTES);
}

function deriveKeys(masterKey: Uint8Array): DerivedKeys {
  return {
    encryption: createSecretKey(derive(masterKey, "seal")),
    fingerprinting: derive(masterKey, "fingerprint"),
  };
}

function derive(masterKey: Uint8Array, purpose: string): Buffer {
  return Buffer.from(hkdfSync("sha256", masterKey, "", `countersign ${purpose}`, 32));
}
