import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { OIDC_CEREMONY_MS } from "../../core/session.ts";
import { generateOpaque } from "../../secrets/opaque.ts";
import { deriveSignInSecrets } from "../../secrets/sign-in-secrets.ts";
import { hashToken } from "../../secrets/token.ts";
import { insertCeremony } from "../../storage/sql/sign-in/ceremonies.ts";

/** Of the table `ceremony`. */
export const OIDC_CEREMONY = "oidc";

export interface OidcStart {
  /** Where the provider sends the browser back to. */
  readonly redirectUri: string;
  /** A path of this server, where the person goes on when they have signed in. */
  readonly returnTo: string;
}

/**
 * Redirects the browser to the identity provider.
 *
 * @returns where that is, and what the browser must bring back from there
 * @throws Problem `not_found` when there is none; Failure when it cannot be asked
 */
export async function beginOidcSignIn(
  { store, random, identityProvider }: Context,
  { redirectUri, returnTo }: OidcStart,
): Promise<{ readonly location: string; readonly cookie: string }> {
  if (identityProvider === undefined) throw new Problem("not_found");
  const cookie = generateOpaque(random);
  const secrets = deriveSignInSecrets(cookie);
  // First: while the provider is away, nothing is written.
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
