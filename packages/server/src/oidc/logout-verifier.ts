/**
 * Verifies logout tokens: signature, issuer, audience, type and times. The claims of the logout are
 * in core/logout-token.ts.
 *
 * @see OpenID Connect Back-Channel Logout 1.0, section 2.6
 */

import { Problem } from "@countersign/protocol";
import type { CustomFetch } from "openid-client";
import type { Claims } from "../core/claims.ts";
import { LOGOUT_TOKEN_AGE_MAX } from "../core/logout-token.ts";
import { SIGNATURE_ALGORITHMS } from "../core/signature-algorithms.ts";
import { Failure } from "../failure.ts";
import { createRemoteKeys } from "./remote-keys.ts";

export interface LogoutVerifierOptions {
  /** Address of the provider's keys. */
  readonly jwksUri: string;
  readonly issuer: string;
  /** The required audience. */
  readonly clientId: string;
  readonly providerFetch: CustomFetch;
}

/**
 * @throws Problem `invalid_credential` with the fault, never with a value of the token; Failure
 * when the keys of the provider are not available
 */
export type LogoutVerifier = (token: string) => Promise<Claims>;

/** As openid-client permits for ID tokens. */
const CLOCK_TOLERANCE_S = 30;

/** Many providers send no type, or the general one. */
const TYPES: readonly (string | undefined)[] = [undefined, "jwt", "logout+jwt"];

export async function createLogoutVerifier({
  jwksUri,
  issuer,
  clientId,
  providerFetch,
}: LogoutVerifierOptions): Promise<LogoutVerifier> {
  const library = await import("jose");
  const { errors, jwtVerify } = library;
  const keys = createRemoteKeys(library, jwksUri, providerFetch);
  const options = {
    algorithms: [...SIGNATURE_ALGORITHMS],
    issuer,
    audience: clientId,
    clockTolerance: CLOCK_TOLERANCE_S,
    maxTokenAge: LOGOUT_TOKEN_AGE_MAX,
    requiredClaims: ["exp", "iat", "jti", "events"],
  };
  return async (token) => {
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keys, options);
      const type = protectedHeader.typ?.toLowerCase().replace(/^application\//, "");
      if (TYPES.includes(type)) return payload;
    } catch (error) {
      if (error instanceof errors.JOSEError && !UNUSABLE_KEYS.includes(error.code)) {
        // This message of the library can contain a value of the token. Others name claims.
        const isUnsupported = error.code === "ERR_JOSE_NOT_SUPPORTED";
        const reason = isUnsupported ? "the header is not supported" : error.message;
        throw new Problem("invalid_credential", `Invalid logout token: ${reason}.`);
      }
      if (error instanceof Failure) throw error;
      throw new Failure("oidc", "the identity provider has no usable keys", error);
    }
    throw new Problem("invalid_credential", "Invalid logout token: typ must be logout+jwt.");
  };
}

/**
 * Whether a token names this issuer. It is not verified yet: this only avoids work for others.
 *
 * @throws Problem `invalid_credential`
 */
export async function assertNamesIssuer(token: string, issuer: string): Promise<void> {
  const { decodeJwt } = await import("jose");
  let named: unknown;
  try {
    named = decodeJwt(token).iss;
  } catch {
    throw new Problem("invalid_credential", "Invalid logout token: it is not a JWT.");
  }
  if (named === issuer) return;
  throw new Problem(
    "invalid_credential",
    "Invalid logout token: 'iss' is not the issuer of the provider.",
  );
}

/** Library codes for an unusable answer with the keys. */
const UNUSABLE_KEYS = ["ERR_JOSE_GENERIC", "ERR_JWKS_INVALID", "ERR_JWKS_TIMEOUT"];
