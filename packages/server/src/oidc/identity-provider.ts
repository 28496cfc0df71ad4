/** The interface to an OpenID provider that operations use. */

import type { Claims } from "../core/claims.ts";

/**
 * Ties an answer of the provider to the browser that started the sign-in. All three are secret
 * until the answer arrives, and are used once.
 */
export interface SignInSecrets {
  readonly state: string;
  readonly nonce: string;
  /** PKCE verifier, RFC 7636. */
  readonly codeVerifier: string;
}

export interface IdentityProvider {
  /**
   * The address to which the browser is redirected.
   *
   * @param redirectUri callback address, as registered at the provider
   * @throws Failure when the provider's description is not available
   */
  authorizationUrl(redirectUri: string, secrets: SignInSecrets): Promise<string>;

  /**
   * Redeems the provider's response.
   *
   * @param callback the redirect URI with its received parameters
   * @returns the claims of the verified id token, and requested claims that only userinfo has
   * @throws Problem `sign_in_refused` when the response or its tokens are invalid; Failure when the
   * provider is not available
   */
  redeem(callback: URL, secrets: SignInSecrets): Promise<Claims>;

  /**
   * Verifies the signature, issuer, audience, type and times of a logout token.
   *
   * @throws Problem `invalid_credential`; Failure when the provider is not available
   */
  verifyLogoutToken(token: string): Promise<Claims>;
}
