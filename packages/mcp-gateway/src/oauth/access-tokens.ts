/**
 * Checks the access tokens of HTTP clients. A token must be a JWT that the configured issuer has
 * signed for this gateway.
 *
 * @see https://datatracker.ietf.org/doc/html/rfc9068
 */

import * as jose from "jose";
import type { AuthorizationServer } from "oauth4webapi";
import type { ResourceConfig } from "./config.ts";
import { createOauthFetch, discoverIssuer, OauthError, type OauthFetch } from "./discovery.ts";

/** Only signatures with a key pair: the keys of the issuer are public. */
const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];

/** Other types, such as logout tokens, are not access tokens. */
const TYPES = [undefined, "jwt", "at+jwt"];

const CLOCK_SKEW_S = 10;

export interface AccessToken {
  /** The claim `sub`. */
  readonly subject: string;
  /** The claim with the name of the user. */
  readonly user: string;
}

/** The gateway does not accept the token. The message contains no part of the token. */
export class TokenRejection extends Error {
  readonly code: "invalid_token" | "insufficient_scope";

  constructor(code: "invalid_token" | "insufficient_scope", message: string) {
    super(message);
    this.code = code;
  }
}

export class AccessTokens {
  readonly #config: ResourceConfig;
  readonly #fetch: OauthFetch;
  #keys: Promise<jose.RemoteJWKSet> | undefined;

  constructor(config: ResourceConfig) {
    this.#config = config;
    this.#fetch = createOauthFetch(config.issuer);
  }

  /** @throws TokenRejection; OauthError if the keys of the issuer are not available */
  async verify(token: string): Promise<AccessToken> {
    const { payload, protectedHeader } = await this.#verifySignature(token);
    const type = protectedHeader.typ?.toLowerCase().replace(/^application\//, "");
    if (!TYPES.includes(type)) throw invalid("it is not an access token");
    // The gateway cannot check the proof of possession that such a token requires.
    if (payload["cnf"] !== undefined) throw invalid("it is not a bearer token");
    const { sub: subject = "" } = payload;
    const user = payload[this.#config.userClaim];
    if (subject === "") throw invalid("the claim sub is empty");
    if (typeof user !== "string" || user === "") {
      throw invalid(`the claim ${this.#config.userClaim} is missing`);
    }
    const granted = scopesOf(payload);
    if (!this.#config.scopes.every((scope) => granted.includes(scope))) {
      const scopes = this.#config.scopes.join(" ");
      throw new TokenRejection("insufficient_scope", `The access token needs the scope ${scopes}.`);
    }
    return { subject, user };
  }

  /** Reads the keys of the issuer. @throws OauthError */
  async check(): Promise<void> {
    const keys = await this.#openKeys();
    try {
      await keys.reload();
    } catch (error) {
      throw this.#unusableKeys(error);
    }
  }

  #unusableKeys(error: unknown): OauthError {
    if (error instanceof OauthError) return error;
    return new OauthError(`The keys of ${this.#config.issuer} are not valid.`);
  }

  async #verifySignature(token: string): Promise<jose.JWTVerifyResult> {
    const { issuer, audience } = this.#config;
    try {
      return await jose.jwtVerify(token, (header, input) => this.#keyOf(header, input), {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        requiredClaims: ["exp", "sub"],
        clockTolerance: CLOCK_SKEW_S,
      });
    } catch (error) {
      if (error instanceof jose.errors.JOSEError) throw invalid(reasonOf(error));
      throw error;
    }
  }

  async #keyOf(
    header: jose.JWTHeaderParameters,
    input: jose.FlattenedJWSInput,
  ): Promise<jose.CryptoKey> {
    this.#keys ??= this.#openKeys();
    let keys: jose.RemoteJWKSet;
    try {
      keys = await this.#keys;
    } catch (error) {
      // The next token tries again.
      this.#keys = undefined;
      throw error;
    }
    try {
      return await keys(header, input);
    } catch (error) {
      throw isAboutToken(error) ? error : this.#unusableKeys(error);
    }
  }

  async #openKeys(): Promise<jose.RemoteJWKSet> {
    const { issuer, jwksUrl } = this.#config;
    const url = jwksUrl ?? (await this.#discover()).jwks_uri;
    if (url === undefined || !URL.canParse(url)) {
      throw new OauthError(`The metadata of ${issuer} has no jwks_uri.`);
    }
    return jose.createRemoteJWKSet(new URL(url), {
      [jose.customFetch]: (keysUrl, init) => this.#fetch(keysUrl, init),
    });
  }

  async #discover(): Promise<AuthorizationServer> {
    const { issuer } = this.#config;
    const metadata = await discoverIssuer(issuer, this.#fetch);
    if (metadata.issuer === issuer) return metadata;
    // The claim `iss` of all tokens would differ.
    throw new OauthError(`Set oauth.issuer to ${metadata.issuer}, as in its metadata.`);
  }
}

/** The values of `scope`, or of `scp`, which some issuers use. */
function scopesOf({ scope, scp }: jose.JWTPayload): readonly unknown[] {
  const value = scope ?? scp;
  if (typeof value === "string") return value.split(" ");
  return Array.isArray(value) ? value : [];
}

function isAboutToken(error: unknown): boolean {
  const { JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported } = jose.errors;
  return [JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported].some(
    (kind) => error instanceof kind,
  );
}

function invalid(reason: string): TokenRejection {
  return new TokenRejection("invalid_token", `The access token is not valid: ${reason}.`);
}

/** The code of the error, and the name of the claim. Messages can contain parts of the token. */
function reasonOf(error: jose.errors.JOSEError): string {
  const { JWTClaimValidationFailed, JWTExpired } = jose.errors;
  if (error instanceof JWTExpired) return "it has expired";
  if (error instanceof JWTClaimValidationFailed) return `the claim ${nameOf(error.claim)} differs`;
  return REASONS[error.code] ?? error.code;
}

/** Of a claim that this module checks. */
function nameOf(claim: string): string {
  return ["iss", "aud", "exp", "nbf", "iat", "sub"].includes(claim) ? claim : "set";
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
