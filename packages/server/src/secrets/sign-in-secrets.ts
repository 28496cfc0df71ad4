/**
 * What a sign-in at an identity provider is recognized by, all of it derived from the one value
 * that the browser keeps: the database holds a digest of that and could not make any of them.
 */

import { createHmac } from "node:crypto";

interface SignInSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** @param cookie 256 random bits, from {@link generateOpaque} */
export function deriveSignInSecrets(cookie: string): SignInSecrets {
  const derive = (purpose: string) =>
    createHmac("sha256", cookie).update(`countersign oidc ${purpose}`).digest("base64url");
  return {
    state: derive("state"),
    nonce: derive("nonce"),
    codeVerifier: derive("code verifier"),
  };
}
