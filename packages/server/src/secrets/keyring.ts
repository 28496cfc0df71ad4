/**
 * The keys under which secrets are stored: sealed copies of credentials (a provisioning replay
 * must return the original token for 168 hours) and fingerprints of inputs that may hold a
 * secret. All are derived from one master key that never enters the database.
 */

import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hash,
  hkdfSync,
  randomBytes,
} from "node:crypto";
import { Failure } from "../failure.ts";

const MASTER_KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export class Keyring {
  /** Names the master key in what was sealed with it; says nothing about the key. */
  readonly keyId: string;
  readonly #sealing: Buffer;
  readonly #fingerprinting: Buffer;

  /** @param masterKey 32 random bytes */
  constructor(masterKey: Uint8Array) {
    if (masterKey.length !== MASTER_KEY_BYTES) {
      throw new Failure("secret-key", `the secret key must be ${MASTER_KEY_BYTES} bytes`);
    }
    this.keyId = derive(masterKey, "key id").toString("hex").slice(0, 8);
    this.#sealing = derive(masterKey, "seal");
    this.#fingerprinting = derive(masterKey, "fingerprint");
  }

  /**
   * Encrypts with AES-256-GCM.
   *
   * @param place what the secret belongs to; a sealed text moved elsewhere does not open
   */
  seal(secret: string, place: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.#sealing, nonce);
    cipher.setAAD(Buffer.from(`${this.keyId} ${place}`));
    const sealed = Buffer.concat([nonce, cipher.update(secret, "utf8"), cipher.final()]);
    const tagged = Buffer.concat([sealed, cipher.getAuthTag()]);
    return `${this.keyId}.${tagged.toString("base64url")}`;
  }

  /** @throws Failure when another key sealed it, or it was altered or moved */
  open(text: string, place: string): string {
    const [keyId, encoded = ""] = text.split(".");
    if (keyId !== this.keyId) {
      throw new Failure("secret-key", `a secret was sealed with key ${keyId}, not ${this.keyId}`);
    }
    const bytes = Buffer.from(encoded, "base64url");
    try {
      const nonce = bytes.subarray(0, NONCE_BYTES);
      const decipher = createDecipheriv("aes-256-gcm", this.#sealing, nonce);
      decipher.setAAD(Buffer.from(`${keyId} ${place}`));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      const body = bytes.subarray(NONCE_BYTES, -TAG_BYTES);
      return decipher.update(body, undefined, "utf8") + decipher.final("utf8");
    } catch (error) {
      throw new Failure("secret-key", "a sealed secret was altered", error);
    }
  }

  /** A keyed hash: equal inputs are recognised, and the stored value reveals no input. */
  fingerprint(text: string): string {
    return createHmac("sha256", this.#fingerprinting).update(text).digest("base64url");
  }
}

/** An Idempotency-Key as it is stored: of bounded length and not readable. */
export function hashIdempotencyKey(key: string): string {
  return hash("sha256", key, "base64url");
}

const REQUEST_KEY_CHARS = 32;

/** The Idempotency-Key of a request together with its scope, in 192 bits. */
export function hashRequestKey(instanceId: string, key: string): string {
  return hash("sha256", `${instanceId} ${key}`, "base64url").slice(0, REQUEST_KEY_CHARS);
}

/** Of the exact stored text, so that a reviewer's client can compute it from what it showed. */
export function sha256Hex(text: string): string {
  return hash("sha256", text, "hex");
}

export function createMasterKey(): Uint8Array {
  return randomBytes(MASTER_KEY_BYTES);
}

function derive(masterKey: Uint8Array, purpose: string): Buffer {
  return Buffer.from(hkdfSync("sha256", masterKey, "", `countersign ${purpose}`, 32));
}
