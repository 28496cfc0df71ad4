/**
 * Where people sign in, when it is not here: the one thing that operations need of an OpenID
 * provider.
 */

import type { Claims } from "../core/claims.ts";

/**
 * What ties an answer of the provider to the browser that was sent there. All three are secrets
 * until the answer came, and each is used once.
 */
export interface SignInSecrets {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE, RFC 7636. */
  readonly codeVerifier: string;
}

export interface IdentityProvider {
  /**
   * Where the browser is sent.
   *
   * @param redirectUri where it comes back, as registered at the provider
   * @throws Failure when the provider cannot be asked where that is
   */
  authorizationUrl(redirectUri: string, secrets: SignInSecrets): Promise<string>;

  /**
   * Redeems what the browser came back with.
   *
   * @param callback the redirect URI with the parameters that came
   * @returns the claims of the verified id token, and of the userinfo those that it lacks and
   *   that are wanted
   * @throws Problem `sign_in_refused` when the answer, or what it was redeemed for, is not what
   *   must come; Failure when the provider could not be asked
   */
  redeem(callback: URL, secrets: SignInSecrets): Promise<Claims>;
}
