/**
 * Verifies the JWTs of workloads: signature, issuer, audience, times and type. Only this file uses
 * the library, and loads it at the first exchange.
 *
 * @see RFC 7519 (JWT); RFC 8725 (security of JWTs); OpenID Connect Discovery 1.0; SPIFFE JWT-SVID
 */

import { readFile } from "node:fs/promises";
import type * as Library from "jose";
import type { Clock } from "../clock.ts";
import type { Claims } from "../core/claims.ts";
import { ExchangeRefusal } from "../core/token-exchange.ts";
import type { WorkloadIssuer } from "../core/workload-rule.ts";
import { Failure } from "../failure.ts";
import { createProviderFetch } from "./provider-fetch.ts";
import { createRemoteKeys } from "./remote-keys.ts";

export interface VerifiedWorkload {
  readonly issuer: WorkloadIssuer;
  readonly claims: Claims;
}

export interface WorkloadTokensOptions {
  readonly issuers: readonly WorkloadIssuer[];
  readonly clock: Clock;
  /** Time limit of each request to an issuer; 5 seconds by default. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 5_000;

/** How long a discovery document is cached. The library caches keys. */
const DESCRIPTION_KEPT_MS = 3_600_000;

/** Difference between the clocks of the issuer and of this server. */
const CLOCK_SKEW_S = 10;

/** Other types, such as logout tokens, do not identify a workload. SPIFFE permits JOSE. */
const TYPES = [undefined, "jwt", "jose"];

type KeySource = Library.JWTVerifyGetKey;

interface RemoteKeys {
  readonly keys: KeySource;
  readonly readAt: number;
}

export class WorkloadTokens {
  readonly #options: WorkloadTokensOptions;
  /** By name of the issuer. */
  readonly #remote = new Map<string, RemoteKeys>();
  readonly #pending = new Map<string, Promise<RemoteKeys>>();

  constructor(options: WorkloadTokensOptions) {
    this.#options = options;
  }

  /**
   * @param token at most SUBJECT_TOKEN_CHARS_MAX characters
   * @throws ExchangeRefusal `invalid_grant`; Failure if the keys of the issuer are not available
   */
  async verify(token: string): Promise<VerifiedWorkload> {
    const library = await import("jose");
    const issuer = this.#issuerOf(library, token);
    const claims = await this.#verifySignature(library, token, issuer);
    return { issuer, claims };
  }

  /** The issuer that the token names. The signature is not verified yet. */
  #issuerOf(library: typeof Library, token: string): WorkloadIssuer {
    let named: string | undefined;
    try {
      const { iss, sub } = library.decodeJwt(token);
      // In a JWT-SVID, `iss` is optional, and the subject contains the trust domain.
      named = iss ?? /^spiffe:\/\/[a-z0-9._-]+(?=\/)/.exec(String(sub))?.[0];
    } catch {
      throw refusal("it is not a JWT");
    }
    const issuer = this.#options.issuers.find((each) => each.issuer === named);
    if (issuer === undefined) throw refusal("its issuer is not configured");
    return issuer;
  }

  async #verifySignature(
    library: typeof Library,
    token: string,
    issuer: WorkloadIssuer,
  ): Promise<Claims> {
    const { audience, algorithms, tokenAgeMsMax } = issuer;
    const isSpiffe = issuer.issuer.startsWith("spiffe:");
    const keyOf: KeySource = (header, input) => this.#keyOf(library, issuer, header, input);
    let verified: Library.JWTVerifyResult;
    try {
      verified = await library.jwtVerify(token, keyOf, {
        ...(isSpiffe ? {} : { issuer: issuer.issuer }),
        audience,
        algorithms: [...algorithms],
        requiredClaims: ["exp", "sub", "iat"],
        maxTokenAge: tokenAgeMsMax / 1_000,
        clockTolerance: CLOCK_SKEW_S,
        currentDate: new Date(this.#options.clock.now()),
      });
    } catch (error) {
      if (error instanceof library.errors.JOSEError) throw refusal(reasonOf(library, error));
      throw error;
    }
    const { payload, protectedHeader } = verified;
    const type = protectedHeader.typ?.toLowerCase().replace(/^application\//, "");
    if (!TYPES.includes(type)) throw refusal("its type is not JWT");
    // Another recipient of the token could send it here.
    if ([payload.aud].flat().length !== 1) throw refusal("it has more than one audience");
    // This server cannot check the proof of possession that such a token requires.
    if (payload["cnf"] !== undefined) throw refusal("it is not a bearer token");
    if (typeof payload.sub !== "string" || payload.sub === "") throw refusal("it has no subject");
    if (isSpiffe && !payload.sub.startsWith(`${issuer.issuer}/`)) {
      throw refusal("its subject is not in the trust domain");
    }
    return payload;
  }

  async #keyOf(
    library: typeof Library,
    issuer: WorkloadIssuer,
    header: Library.JWTHeaderParameters,
    input: Library.FlattenedJWSInput,
  ): Promise<Library.CryptoKey> {
    const keys = await this.#keysOf(library, issuer);
    try {
      return (await keys(header, input)) as Library.CryptoKey;
    } catch (error) {
      if (isAboutToken(library, error)) throw error;
      throw asFailure(issuer, error);
    }
  }

  async #keysOf(library: typeof Library, issuer: WorkloadIssuer): Promise<KeySource> {
    if (issuer.jwksFile !== undefined) {
      return readKeys(library, issuer, issuer.jwksFile);
    }
    const { name } = issuer;
    const known = this.#remote.get(name);
    const now = this.#options.clock.monotonic();
    if (known !== undefined && now - known.readAt < DESCRIPTION_KEPT_MS) return known.keys;
    // Concurrent exchanges share one discovery.
    let pending = this.#pending.get(name);
    if (pending === undefined) {
      pending = this.#discover(library, issuer).finally(() => this.#pending.delete(name));
      this.#pending.set(name, pending);
    }
    const discovered = await pending;
    this.#remote.set(name, discovered);
    return discovered.keys;
  }

  async #discover(library: typeof Library, issuer: WorkloadIssuer): Promise<RemoteKeys> {
    const { clock, timeoutMs = TIMEOUT_MS } = this.#options;
    const get = createProviderFetch({
      allowsPlainLoopback: issuer.issuer.startsWith("http:"),
      timeoutMs,
      dependency: "workload_identity",
      party: `the issuer ${issuer.name}`,
    });
    const url = `${issuer.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
    const init = { method: "GET", headers: { accept: "application/json" } } as const;
    let found: unknown;
    try {
      const response = await get(url, { ...init, body: undefined, redirect: "manual" });
      if (response.status !== 200) throw new Error(`its status is ${response.status}`);
      found = await response.json();
    } catch (error) {
      throw asFailure(issuer, error, "has no usable discovery document");
    }
    const { issuer: named, jwks_uri: keysUrl } = Object(found) as Record<string, unknown>;
    if (named !== issuer.issuer) {
      throw asFailure(issuer, undefined, "has another issuer in its discovery document");
    }
    if (typeof keysUrl !== "string" || !URL.canParse(keysUrl)) {
      throw asFailure(issuer, undefined, "has no jwks_uri in its discovery document");
    }
    const keys = createRemoteKeys(library, keysUrl, get);
    return { keys, readAt: clock.monotonic() };
  }
}

/** Reads the file at each exchange, so that a new key needs no restart. */
async function readKeys(
  library: typeof Library,
  issuer: WorkloadIssuer,
  file: string,
): Promise<KeySource> {
  try {
    const { keys } = JSON.parse(await readFile(file, "utf8")) as Library.JSONWebKeySet;
    // A bundle of SPIFFE marks the keys of JWTs in its own way, and has others for X.509.
    const usable = keys.flatMap(({ use, ...key }) => {
      return use === undefined || use === "sig" || use === "jwt-svid" ? [key] : [];
    });
    return library.createLocalJWKSet({ keys: usable });
  } catch (error) {
    throw asFailure(issuer, error, "has an unusable jwks_file");
  }
}

function asFailure({ name }: WorkloadIssuer, error: unknown, what = "has no usable keys"): Failure {
  if (error instanceof Failure) return error;
  return new Failure("workload_identity", `the issuer ${name} ${what}`, error);
}

function isAboutToken(library: typeof Library, error: unknown): boolean {
  const { JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported } = library.errors;
  return [JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported].some(
    (kind) => error instanceof kind,
  );
}

function refusal(reason: string): ExchangeRefusal {
  return new ExchangeRefusal("invalid_grant", `The subject token is not valid: ${reason}.`);
}

/** The code of the error, and the name of the claim. Messages can contain parts of the token. */
function reasonOf(library: typeof Library, error: Library.errors.JOSEError): string {
  const { JWTClaimValidationFailed, JWTExpired } = library.errors;
  if (error instanceof JWTExpired) {
    return error.claim === "iat" ? "it is older than token_age_max" : "it has expired";
  }
  if (error instanceof JWTClaimValidationFailed) {
    const isKnown = ["iss", "aud", "exp", "nbf", "iat", "sub"].includes(error.claim);
    const claim = isKnown ? error.claim : "set";
    return error.reason === "missing"
      ? `the claim ${claim} is missing`
      : `the claim ${claim} differs`;
  }
  return REASONS[error.code] ?? error.code;
}

const REASONS: Readonly<Record<string, string>> = {
  ERR_JWS_INVALID: "it is not a JWT",
  ERR_JWT_INVALID: "it is not a JWT",
  ERR_JOSE_ALG_NOT_ALLOWED: "its algorithm is not allowed",
  ERR_JOSE_NOT_SUPPORTED: "its algorithm is not supported",
  ERR_JWKS_NO_MATCHING_KEY: "the issuer has no such key",
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: "the issuer has several matching keys",
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: "its signature is wrong",
};
