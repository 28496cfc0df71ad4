import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { OIDC_CEREMONY_MS } from "../../core/session.ts";
import { generateOpaque } from "../../secrets/opaque.ts";
import { deriveSignInSecrets } from "../../secrets/sign-in-secrets.ts";
import { hashToken } from "../../secrets/token.ts";
import { insertCeremony } from "../../storage/sql/sign-in/ceremonies.ts";

/** Kind in the table `ceremony`. */
export const OIDC_CEREMONY = "oidc";

export interface OidcStart {
  /** The callback address. */
  readonly redirectUri: string;
  /** A path of this server: the page after the sign-in. */
  readonly returnTo: string;
}

/**
 * Starts a sign-in at the identity provider.
 *
 * @returns the address to redirect the browser to, and the cookie value
 * @throws Problem `not_found` without a provider; Failure when its description is not available
 */
export async function beginOidcSignIn(
  { store, random, identityProvider }: Context,
  { redirectUri, returnTo }: OidcStart,
): Promise<{ readonly location: string; readonly cookie: string }> {
  if (identityProvider === undefined) throw new Problem("not_found");
  const cookie = generateOpaque(random);
  const secrets = deriveSignInSecrets(cookie);
  // First, so that nothing is written while the provider is unavailable.
  const location = await identityProvider.authorizationUrl(redirectUri, secrets);
  await store.transact(async (tx) => {
    const ceremony = {
      id: hashToken(cookie),
      kind: OIDC_CEREMONY,
      personId: null,
      detail: JSON.stringify({ return_to: returnTo }),
      expiresAt: (await tx.now()) + OIDC_CEREMONY_MS,
    };
    await insertCeremony(tx, ceremony);
  });
  return { location, cookie };
}
