/**
 * The state of a sign-in at an identity provider. All values are derived from the browser's cookie.
 * The database has only a digest of the cookie, which cannot produce them.
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
