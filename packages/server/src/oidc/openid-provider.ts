/**
 * An OpenID provider with discovery: authorization code with PKCE, and an id token with verified
 * signature, issuer, audience, nonce and times. Only this file uses the library, and loads it at
 * the first sign-in.
 *
 * @see OpenID Connect Core 1.0, section 3.1; Discovery 1.0; RFC 9207 (issuer in the answer);
 *   RFC 9700 (security of OAuth)
 */

import { Problem } from "@countersign/protocol";
import type * as Library from "openid-client";
import type { Clock } from "../clock.ts";
import type { Claims } from "../core/claims.ts";
import { Failure } from "../failure.ts";
import type { IdentityProvider, SignInSecrets } from "./identity-provider.ts";
import { assertNamesIssuer, createLogoutVerifier, type LogoutVerifier } from "./logout-verifier.ts";
import { createProviderFetch } from "./provider-fetch.ts";

export interface OpenidProviderOptions {
  readonly issuer: string;
  readonly clientId: string;
  /** Undefined for a public client. */
  readonly clientSecret: string | undefined;
  readonly scopes: string;
  /** Requested from userinfo when the id token lacks one of them. */
  readonly wantedClaims: readonly string[];
  readonly clock: Clock;
  /** Called with the reason of a rejection. The user receives a shorter one. */
  readonly onRefused: (reason: string) => void;
  /** Time limit of each exchange; 5 seconds by default. */
  readonly timeoutMs?: number;
}

/** How long a discovery document is cached. Keys are fetched again when needed. */
const DESCRIPTION_KEPT_MS = 3_600_000;

/** Pause after a failed discovery for a logout. */
const FAILURE_KEPT_MS = 5_000;

const TIMEOUT_MS = 5_000;

/** Maximum concurrent redemptions, which bounds the work that a slow provider blocks. */
const REDEEMING_MAX = 32;

interface Described {
  readonly library: typeof Library;
  readonly configuration: Library.Configuration;
  readonly verifyLogout: LogoutVerifier;
  readonly readAt: number;
}

export class OpenidProvider implements IdentityProvider {
  readonly #options: OpenidProviderOptions;
  #described: Described | undefined;
  /** The last failed discovery for a logout. `at`: monotonic time, ms. */
  #failed: { readonly error: unknown; readonly at: number } | undefined;
  #describing: Promise<Described> | undefined;
  #redeeming = 0;

  constructor(options: OpenidProviderOptions) {
    this.#options = options;
  }

  async authorizationUrl(redirectUri: string, secrets: SignInSecrets): Promise<string> {
    const { library, configuration } = await this.#describe();
    const url = library.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: this.#options.scopes,
      state: secrets.state,
      nonce: secrets.nonce,
      code_challenge: await library.calculatePKCECodeChallenge(secrets.codeVerifier),
      code_challenge_method: "S256",
    });
    return url.href;
  }

  async redeem(callback: URL, secrets: SignInSecrets): Promise<Claims> {
    if (this.#redeeming >= REDEEMING_MAX) throw new Failure("oidc", "too many sign-ins at once");
    this.#redeeming++;
    try {
      return await this.#redeemNow(callback, secrets);
    } catch (error) {
      throw this.#explain(error);
    } finally {
      this.#redeeming--;
    }
  }

  async verifyLogoutToken(token: string): Promise<Claims> {
    await assertNamesIssuer(token, this.#options.issuer);
    const { verifyLogout } = await this.#describeSparingly();
    return verifyLogout(token);
  }

  /** Anyone can send a token, so a failed discovery is not repeated at once. */
  async #describeSparingly(): Promise<Described> {
    const { clock } = this.#options;
    const failed = this.#failed;
    if (failed && clock.monotonic() - failed.at < FAILURE_KEPT_MS) throw failed.error;
    try {
      return await this.#describe();
    } catch (error) {
      this.#failed = { error, at: clock.monotonic() };
      throw error;
    }
  }

  async #redeemNow(callback: URL, secrets: SignInSecrets): Promise<Claims> {
    const { library, configuration } = await this.#describe();
    const tokens = await library.authorizationCodeGrant(configuration, callback, {
      expectedState: secrets.state,
      expectedNonce: secrets.nonce,
      pkceCodeVerifier: secrets.codeVerifier,
      idTokenExpected: true,
    });
    const claims: Claims | undefined = tokens.claims();
    // For one provider, the library accepts a token of any tenant.
    if (claims?.iss !== this.#options.issuer) throw new Refusal("the id token has another issuer");
    const isWhole = this.#options.wantedClaims.every((name) => Object.hasOwn(claims, name));
    if (isWhole || configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
    const subject = String(claims.sub);
    const more = await library.fetchUserInfo(configuration, tokens.access_token, subject);
    // Signed claims override those from userinfo.
    return { ...more, ...claims };
  }

  /** One discovery for all waiting sign-ins, so that a slow provider holds one connection. */
  async #describe(): Promise<Described> {
    const { clock } = this.#options;
    const described = this.#described;
    if (described && clock.monotonic() - described.readAt < DESCRIPTION_KEPT_MS) return described;
    this.#describing ??= this.#readDescription().finally(() => {
      this.#describing = undefined;
    });
    return this.#describing;
  }

  async #readDescription(): Promise<Described> {
    const { issuer, clientId, clientSecret, clock, timeoutMs = TIMEOUT_MS } = this.#options;
    const library = await import("openid-client");
    const allowsPlainLoopback = issuer.startsWith("http:");
    const providerFetch = createProviderFetch({ allowsPlainLoopback, timeoutMs });
    const prepare = [library.enableNonRepudiationChecks];
    if (allowsPlainLoopback) prepare.push(library.allowInsecureRequests);
    try {
      const configuration = await library.discovery(
        new URL(issuer),
        clientId,
        {},
        authentication(library, clientSecret),
        { execute: prepare, [library.customFetch]: providerFetch },
      );
      const { issuer: found, jwks_uri: jwksUri } = configuration.serverMetadata();
      if (found !== issuer) {
        throw new Failure(
          "oidc",
          `the issuer of the identity provider is ${found}: set oidc_issuer to it`,
        );
      }
      if (jwksUri === undefined) throw new Failure("oidc", "the identity provider has no jwks_uri");
      const logouts = { jwksUri, issuer, clientId, providerFetch };
      const verifyLogout = await createLogoutVerifier(logouts);
      this.#described = { library, configuration, verifyLogout, readAt: clock.monotonic() };
      return this.#described;
    } catch (error) {
      throw (
        failureIn(error) ??
        new Failure("oidc", "the identity provider has no usable discovery document", error)
      );
    }
  }

  /** The error for a user with an invalid response. */
  #explain(error: unknown): Error {
    const failure = failureIn(error);
    if (failure !== undefined) return failure;
    if (isUnusable(error)) {
      return new Failure("oidc", `the identity provider: ${describe(error)}`, error);
    }
    const code = oauthError(error);
    if (code === "server_error" || code === "temporarily_unavailable") {
      return new Failure("oidc", `the identity provider returned the error ${code}`, error);
    }
    if (code !== undefined && OURS.includes(code)) {
      return new Failure("oidc", `the identity provider rejected this client: ${code}`, error);
    }
    this.#options.onRefused(code ?? describe(error));
    if (code === "invalid_grant") {
      return new Problem(
        "sign_in_refused",
        "This sign-in was already used or has expired. Sign in again.",
      );
    }
    if (code !== undefined) {
      return new Problem("sign_in_refused", `The identity provider returned the error ${code}.`);
    }
    return new Problem(
      "sign_in_refused",
      "The response of the identity provider does not match this sign-in. Sign in again.",
    );
  }
}

/** An answer that the library accepts and this server rejects. */
class Refusal extends Error {
  override readonly name = "Refusal";
}

/** Error codes for an invalid configuration of this server or of the provider. */
const OURS = [
  "invalid_client",
  "unauthorized_client",
  "unsupported_grant_type",
  "invalid_request",
  "invalid_scope",
  "unsupported_response_type",
];

/** As the provider supports it: in the header, or only in the body. */
function authentication(library: typeof Library, secret: string | undefined): Library.ClientAuth {
  if (secret === undefined) return library.None();
  const inHeader = library.ClientSecretBasic(secret);
  const inBody = library.ClientSecretPost(secret);
  return (server, client, body, headers) => {
    const { token_endpoint_auth_methods_supported: methods } = server;
    const takesHeader = methods === undefined || methods.includes("client_secret_basic");
    (takesHeader ? inHeader : inBody)(server, client, body, headers);
  };
}

/** The failure of an exchange, which the library wraps. */
function failureIn(error: unknown): Failure | undefined {
  if (error instanceof Failure) return error;
  return error instanceof Error ? failureIn(error.cause) : undefined;
}

/** Library codes for malformed answers and rejected client credentials. */
const UNUSABLE = [
  "OAUTH_RESPONSE_IS_NOT_CONFORM",
  "OAUTH_RESPONSE_IS_NOT_JSON",
  "OAUTH_PARSE_ERROR",
  "OAUTH_WWW_AUTHENTICATE_CHALLENGE",
];

function isUnusable(error: unknown): boolean {
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && UNUSABLE.includes(code);
}

/** The code of an error answer, if it may be displayed. */
function oauthError(error: unknown): string | undefined {
  const code: unknown = error instanceof Error && "error" in error ? error.error : undefined;
  return typeof code === "string" && /^[a-z_]{1,40}$/.test(code) ? code : undefined;
}

/** Only the library's message and the name of the claim, without any received data. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  const { cause } = error;
  const inner = cause instanceof Error ? `: ${cause.message}` : "";
  return `${error.message}${inner}`;
}
