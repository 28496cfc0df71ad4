/**
 * An authenticator in software: passkeys made with node:crypto that answer as browsers do. Tests
 * can bend its statements about itself, to see which ones the server rejects.
 */

import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

export type Algorithm = "ES256" | "EdDSA" | "RS256";

export const ALGORITHMS: readonly Algorithm[] = ["ES256", "EdDSA", "RS256"];

export interface Bent {
  readonly origin?: string;
  readonly rpId?: string;
  /** Bits: 0x01 present, 0x04 verified. */
  readonly flags?: number;
  readonly counter?: number;
  readonly type?: string;
  readonly crossOrigin?: boolean;
  readonly userHandle?: string;
}

/** The result of `PublicKeyCredential.toJSON`. */
export interface CredentialJson {
  readonly id: string;
  readonly rawId: string;
  readonly type: string;
  readonly response: Readonly<Record<string, unknown>>;
  readonly clientExtensionResults: object;
}

const PRESENT_AND_VERIFIED = 0x05;
const HAS_CREDENTIAL = 0x40;

export class Authenticator {
  readonly id = randomBytes(16).toString("base64url");
  readonly algorithm: Algorithm;
  readonly origin: string;
  readonly #private: KeyObject;
  readonly #cose: Buffer;
  /** Zero for one that does not count, as most passkeys. */
  counter: number;

  constructor(origin: string, algorithm: Algorithm = "ES256", counter = 0) {
    this.origin = origin;
    this.algorithm = algorithm;
    this.counter = counter;
    const { publicKey, privateKey } = createPair(algorithm);
    this.#private = privateKey;
    this.#cose = toCose(publicKey, algorithm);
  }

  /** COSE key, base64url. */
  get publicKey(): string {
    return this.#cose.toString("base64url");
  }

  /** Answers options of `navigator.credentials.create`. */
  create(challenge: string, bent: Bent = {}): CredentialJson {
    const flags = (bent.flags ?? PRESENT_AND_VERIFIED) | HAS_CREDENTIAL;
    const id = Buffer.from(this.id, "base64url");
    const data = Buffer.concat([
      this.#head({ ...bent, flags }),
      Buffer.alloc(16),
      Buffer.from([0, id.length]),
      id,
      this.#cose,
    ]);
    const attestation = Buffer.concat([
      Buffer.from([0xa3]),
      cborText("fmt"),
      cborText("none"),
      cborText("attStmt"),
      Buffer.from([0xa0]),
      cborText("authData"),
      cborBytes(data),
    ]);
    return this.#toJson({
      clientDataJSON: this.#clientData("webauthn.create", challenge, bent),
      attestationObject: attestation.toString("base64url"),
      transports: ["internal"],
    });
  }

  /** Answers options of `navigator.credentials.get`. */
  get(challenge: string, bent: Bent = {}): CredentialJson {
    const { userHandle } = bent;
    const data = this.#head(bent);
    const clientDataJSON = this.#clientData("webauthn.get", challenge, bent);
    const hash = createHash("sha256").update(Buffer.from(clientDataJSON, "base64url")).digest();
    return this.#toJson({
      clientDataJSON,
      authenticatorData: data.toString("base64url"),
      signature: this.#sign(Buffer.concat([data, hash])).toString("base64url"),
      ...(userHandle !== undefined && { userHandle }),
    });
  }

  #sign(data: Buffer): Buffer {
    return sign(this.algorithm === "EdDSA" ? null : "sha256", data, this.#private);
  }

  #head({ rpId, flags = PRESENT_AND_VERIFIED, counter }: Bent): Buffer {
    const hash = createHash("sha256").update(rpId ?? new URL(this.origin).hostname);
    const rest = Buffer.alloc(5, 0);
    rest[0] = flags;
    if (counter === undefined && this.counter > 0) this.counter++;
    rest.writeUInt32BE(counter ?? this.counter, 1);
    return Buffer.concat([hash.digest(), rest]);
  }

  #clientData(type: string, challenge: string, bent: Bent): string {
    const { origin = this.origin, crossOrigin = false } = bent;
    const json = JSON.stringify({ type: bent.type ?? type, challenge, origin, crossOrigin });
    return Buffer.from(json).toString("base64url");
  }

  #toJson(response: CredentialJson["response"]): CredentialJson {
    const { id } = this;
    return { id, rawId: id, type: "public-key", response, clientExtensionResults: {} };
  }
}

function createPair(algorithm: Algorithm): { publicKey: KeyObject; privateKey: KeyObject } {
  switch (algorithm) {
    case "ES256":
      return generateKeyPairSync("ec", { namedCurve: "P-256" });
    case "EdDSA":
      return generateKeyPairSync("ed25519");
    case "RS256":
      return generateKeyPairSync("rsa", { modulusLength: 2_048 });
  }
}

function toCose(key: KeyObject, algorithm: Algorithm): Buffer {
  const { x = "", y = "", n = "", e = "" } = key.export({ format: "jwk" });
  const number = (base64url: string) => cborBytes(Buffer.from(base64url, "base64url"));
  switch (algorithm) {
    case "ES256":
      return Buffer.concat([
        Buffer.from("a5010203262001", "hex"),
        Buffer.from("21", "hex"),
        number(x),
        Buffer.from("22", "hex"),
        number(y),
      ]);
    case "EdDSA":
      return Buffer.concat([Buffer.from("a401010327200621", "hex"), number(x)]);
    case "RS256":
      return Buffer.concat([
        Buffer.from("a4010303390100", "hex"),
        Buffer.from("20", "hex"),
        number(n),
        Buffer.from("21", "hex"),
        number(e),
      ]);
  }
}

function cborBytes(bytes: Uint8Array): Buffer {
  return Buffer.concat([cborHead(2, bytes.length), bytes]);
}

function cborText(text: string): Buffer {
  return Buffer.concat([cborHead(3, text.length), Buffer.from(text)]);
}

function cborHead(major: number, length: number): Buffer {
  const type = major << 5;
  if (length < 24) return Buffer.from([type | length]);
  if (length < 256) return Buffer.from([type | 24, length]);
  return Buffer.from([type | 25, length >> 8, length & 0xff]);
}
