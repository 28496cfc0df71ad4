/**
 * Creates the options for making or using a passkey, and verifies the browser's response. A thin
 * layer over a library, which is loaded at the first use.
 *
 * Guarantees: the authenticator verified the user (presence is not enough), the response is for the
 * origin and host of this server, and the audit log can verify the key's signatures later. The
 * caller compares signature counters after it has locked the row: see {@link isCounterRegressed}.
 *
 * @see W3C Web Authentication Level 3, sections 7.1 and 7.2
 */

import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import { CoseKeyError, EDDSA, ES256, RS256, readCoseKey } from "../audit/cose-key.ts";

/** The WebAuthn relying party: passkeys work only on this origin. */
export interface RelyingParty {
  /** The host of the public URL. */
  readonly id: string;
  readonly origin: string;
}

/** @param publicUrl base URL of this server */
export function relyingPartyOf(publicUrl: string): RelyingParty {
  const { hostname: id, origin } = new URL(publicUrl);
  return { id, origin };
}

/** The public part of a passkey. */
export interface PublicCredential {
  /** base64url. */
  readonly id: string;
  /** COSE key, base64url. */
  readonly publicKey: string;
  readonly transports: readonly string[];
}

/** The response of a browser, from its `toJSON`. Untrusted. */
export type BrowserCredential = Readonly<Record<string, unknown>>;

/** The response of a browser is invalid. The message is for the user. */
export class PasskeyRefused extends Error {}

/** Time limit for a user with an authenticator. */
export const CEREMONY_MS_MAX = 5 * 60_000;

const ALGORITHMS = [ES256, EDDSA, RS256];

/** The user who creates the passkey. */
export interface PasskeyOwner {
  /** At most 64 bytes. */
  readonly id: string;
  readonly login: string;
  readonly name: string;
}

/** @returns options for `navigator.credentials.create`, as JSON text */
export async function creationOptions(
  party: RelyingParty,
  owner: PasskeyOwner,
  existing: readonly PublicCredential[],
  challenge: Uint8Array,
): Promise<string> {
  const { generateRegistrationOptions } = await import("@simplewebauthn/server");
  const options = await generateRegistrationOptions({
    rpName: "Countersign",
    rpID: party.id,
    userName: owner.login,
    userDisplayName: owner.name,
    userID: new TextEncoder().encode(owner.id),
    challenge: Uint8Array.from(challenge),
    timeout: CEREMONY_MS_MAX,
    attestationType: "none",
    excludeCredentials: existing.map(toDescriptor),
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
    supportedAlgorithmIDs: ALGORITHMS,
  });
  return JSON.stringify(options);
}

/**
 * @param allowed passkeys to choose from; empty: the browser offers any
 * @returns options for `navigator.credentials.get`, as JSON text
 */
export async function requestOptions(
  party: RelyingParty,
  allowed: readonly PublicCredential[],
  challenge: Uint8Array,
): Promise<string> {
  const { generateAuthenticationOptions } = await import("@simplewebauthn/server");
  const options = await generateAuthenticationOptions({
    rpID: party.id,
    challenge: Uint8Array.from(challenge),
    timeout: CEREMONY_MS_MAX,
    userVerification: "required",
    allowCredentials: allowed.map(toDescriptor),
  });
  return JSON.stringify(options);
}

export interface NewCredential extends PublicCredential {
  readonly counter: number;
}

/**
 * @param challenge base64url, from the options
 * @throws PasskeyRefused
 */
export async function verifyCreation(
  party: RelyingParty,
  answer: BrowserCredential,
  challenge: string,
): Promise<NewCredential> {
  const { verifyRegistrationResponse } = await import("@simplewebauthn/server");
  const { decodeAttestationObject } = await import("@simplewebauthn/server/helpers");
  const response = readCreation(answer);
  return refusing(async () => {
    const attested = Buffer.from(response.response.attestationObject, "base64url");
    const object = decodeAttestationObject(Uint8Array.from(attested));
    assertNoCertificates(object.get("fmt"), object.get("attStmt").get("x5c"));
    const { registrationInfo } = await verifyRegistrationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (registrationInfo === undefined) throw new PasskeyRefused("The passkey was not accepted.");
    const { id, publicKey, counter } = registrationInfo.credential;
    readCoseKey(publicKey);
    const { transports = [] } = response.response;
    return { id, publicKey: Buffer.from(publicKey).toString("base64url"), counter, transports };
  });
}

/**
 * Rejects certificates, because the options requested none. The library would fetch the revocation
 * lists that a certificate links to, from any host.
 */
function assertNoCertificates(format: string, certificates: unknown): void {
  if (format === "none" || (format === "packed" && certificates === undefined)) return;
  throw new PasskeyRefused(
    "The passkey has an attestation. Create it with the attestation `none`.",
  );
}

export interface Assertion {
  readonly credentialId: string;
  /** 0 for authenticators without a counter. */
  readonly counter: number;
  /** Client data of the {@link BrowserCredential}, base64url. */
  readonly clientData: string;
  readonly authenticatorData: string;
  readonly signature: string;
}

/**
 * @param challenge base64url, from the options
 * @param publicKey COSE key, base64url
 * @throws PasskeyRefused
 */
export async function verifyAssertion(
  party: RelyingParty,
  answer: BrowserCredential,
  challenge: string,
  publicKey: string,
): Promise<Assertion> {
  const { verifyAuthenticationResponse } = await import("@simplewebauthn/server");
  const response = readAssertion(answer);
  return refusing(async () => {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: true,
      credential: {
        id: response.id,
        publicKey: Uint8Array.from(Buffer.from(publicKey, "base64url")),
        // The caller compares it after it has locked the row.
        counter: 0,
      },
    });
    if (!verified) throw new PasskeyRefused("The signature does not match this passkey.");
    return {
      credentialId: response.id,
      counter: authenticationInfo.newCounter,
      clientData: response.response.clientDataJSON,
      authenticatorData: response.response.authenticatorData,
      signature: response.response.signature,
    };
  });
}

/**
 * True when the authenticator may have been copied: its signature counter did not increase.
 * Authenticators without a counter always send 0.
 */
export function isCounterRegressed(seen: number, counter: number): boolean {
  return (seen > 0 || counter > 0) && counter <= seen;
}

function toDescriptor({ id, transports }: PublicCredential) {
  return { id, transports: [...transports] };
}

/** Converts errors of the library: its only input is the browser's response. */
async function refusing<T>(verify: () => Promise<T>): Promise<T> {
  try {
    return await verify();
  } catch (error) {
    if (error instanceof PasskeyRefused) throw error;
    if (error instanceof CoseKeyError)
      throw new PasskeyRefused(`Invalid passkey: ${error.message}.`);
    const reason = error instanceof Error ? error.message : "it could not be read";
    throw new PasskeyRefused(`Invalid passkey response: ${reason.slice(0, 300)}.`);
  }
}

/** The longest credential id: section 4 of the specification. */
const ID_CHARS_MAX = 1_366;

const TRANSPORTS_MAX = 16;

function readCreation(answer: BrowserCredential): RegistrationResponseJSON {
  const { id, response } = readAnswer(answer);
  const transports = Array.isArray(response.transports) ? response.transports : [];
  const valid = transports.filter((one) => typeof one === "string" && /^[a-z-]{1,20}$/.test(one));
  return {
    id,
    rawId: id,
    type: "public-key",
    clientExtensionResults: {},
    response: {
      clientDataJSON: text(response, "clientDataJSON"),
      attestationObject: text(response, "attestationObject"),
      transports: valid.slice(0, TRANSPORTS_MAX),
    },
  };
}

function readAssertion(answer: BrowserCredential): AuthenticationResponseJSON {
  const { id, response } = readAnswer(answer);
  return {
    id,
    rawId: id,
    type: "public-key",
    clientExtensionResults: {},
    response: {
      clientDataJSON: text(response, "clientDataJSON"),
      authenticatorData: text(response, "authenticatorData"),
      signature: text(response, "signature"),
    },
  };
}

function readAnswer({ id, rawId, type, response }: BrowserCredential) {
  const isId = typeof id === "string" && id.length <= ID_CHARS_MAX && /^[\w-]+$/.test(id);
  if (!isId || id !== rawId || type !== "public-key") {
    throw new PasskeyRefused(
      "Invalid passkey response: it must be the JSON object that a browser creates.",
    );
  }
  if (typeof response !== "object" || response === null) {
    throw new PasskeyRefused("Invalid passkey response: response is missing.");
  }
  return { id, response: response as BrowserCredential };
}

/**
 * The id of the passkey in a response.
 *
 * @throws PasskeyRefused for an invalid id, which a database could reject as a parameter
 */
export function credentialIdOf(answer: BrowserCredential): string {
  return readAnswer(answer).id;
}

/** Signed data is stored permanently, and clients can choose its length. */
const CHARS_MAX = 8_192;

function text(response: BrowserCredential, name: string): string {
  const value = response[name];
  const isText = typeof value === "string" && value.length <= CHARS_MAX;
  if (isText && /^[\w-]+$/.test(value)) return value;
  throw new PasskeyRefused(`Invalid passkey response: ${name} is missing.`);
}

/**
 * The challenge in a response, base64url, to look up in the database.
 *
 * @throws PasskeyRefused
 */
export function challengeOf(answer: BrowserCredential): string {
  const { response } = readAnswer(answer);
  try {
    const json = Buffer.from(text(response, "clientDataJSON"), "base64url").toString();
    const { challenge } = JSON.parse(json) as { readonly challenge?: unknown };
    if (typeof challenge === "string") return challenge;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new PasskeyRefused("The passkey response does not match any pending challenge.");
}
