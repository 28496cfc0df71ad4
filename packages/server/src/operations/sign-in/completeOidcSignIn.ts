import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { type Claims, readClaims } from "../../core/claims.ts";
import { toEpochMs } from "../../core/logout-token.ts";
import { isOpaque } from "../../secrets/opaque.ts";
import { hashProviderSession } from "../../secrets/provider-session.ts";
import { deriveSignInSecrets } from "../../secrets/sign-in-secrets.ts";
import { hashToken } from "../../secrets/token.ts";
import { createSession, type ProviderSession } from "../../steps/access/createSession.ts";
import { endSessions } from "../../steps/access/endSessions.ts";
import { admitClaimedPerson } from "../../steps/sign-in/admitClaimedPerson.ts";
import { wasEndedByProvider } from "../../steps/sign-in/wasEndedByProvider.ts";
import { takeCeremony } from "../../storage/sql/sign-in/ceremonies.ts";
import { readSessionByHash } from "../../storage/sql/sign-in/sessions.ts";
import { OIDC_CEREMONY } from "./beginOidcSignIn.ts";

export interface OidcAnswer {
  /** The redirect URI with the provider's parameters. */
  readonly callback: URL;
  /** The cookie of the started sign-in; undefined without one. */
  readonly cookie: string | undefined;
  readonly userAgent: string;
}

/**
 * Completes a sign-in at the identity provider. The ceremony ends with this call, also after an
 * error.
 *
 * @returns the cookie value, and the path of the next page
 * @throws Problem `not_found` without a provider; `sign_in_refused`; Failure when the provider is
 * unavailable
 */
export async function completeOidcSignIn(
  context: Context,
  { callback, cookie = "", userAgent }: OidcAnswer,
): Promise<{ readonly session: string; readonly returnTo: string }> {
  const { store, settings, identityProvider } = context;
  if (identityProvider === undefined) throw new Problem("not_found");
  const secrets = deriveSignInSecrets(cookie);
  // Checked first, because another site's link must not end a started sign-in.
  if (callback.searchParams.get("state") !== secrets.state) throw unknownSignIn();
  const { returnTo } = await endCeremony(context, cookie);
  // No lock is held during the call to the provider.
  const claims = await identityProvider.redeem(callback, secrets);
  const claimed = readClaims(claims, settings.mapping);
  const provider = providerSessionOf(claims);
  const outcome = await store.transact(async (tx) => {
    const admission = await admitClaimedPerson(tx, context, claimed);
    if (admission.refusal !== undefined) return admission;
    const { personId, projectId } = admission;
    const order = { personId, projectId, method: "oidc", userAgent, provider } as const;
    return { session: await createSession(tx, context, order), refusal: undefined };
  });
  // After the commit, so that removed roles stay removed.
  if (outcome.refusal !== undefined) throw new Problem("sign_in_refused", outcome.refusal);
  await assertNotEnded(context, claims, outcome.session);
  return { session: outcome.session, returnTo };
}

function providerSessionOf({ iss, sid, iat }: Claims): ProviderSession {
  return {
    hash: isText(sid) ? hashProviderSession(String(iss), sid) : null,
    issuedAt: typeof iat === "number" ? toEpochMs(iat) : null,
  };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/**
 * The provider may have ended its session before the new session was stored.
 *
 * @param cookie of the new session
 * @throws Problem `sign_in_refused`
 */
async function assertNotEnded(context: Context, claims: Claims, cookie: string): Promise<void> {
  const { store } = context;
  const { iss, sid, sub } = claims;
  const { issuedAt } = providerSessionOf(claims);
  const token = { sid: isText(sid) ? sid : undefined, sub: String(sub), issuedAt };
  if (!(await wasEndedByProvider(store, String(iss), token))) return;
  await store.transact(async (tx) => {
    const session = await readSessionByHash(tx, hashToken(cookie));
    const because = "signed out at the identity provider";
    const end = { by: "system:provider-logout", because } as const;
    await endSessions(tx, context, session === undefined ? [] : [session], end);
  });
  throw new Problem("sign_in_refused", "The identity provider ended this sign-in. Sign in again.");
}

/** @throws Problem `sign_in_refused` when this browser started no sign-in, or too long ago */
async function endCeremony(
  { store }: Context,
  cookie: string,
): Promise<{ readonly returnTo: string }> {
  const ceremony = await store.transact(async (tx) => {
    const taken = isOpaque(cookie)
      ? await takeCeremony(tx, hashToken(cookie), OIDC_CEREMONY)
      : undefined;
    return taken !== undefined && (await tx.now()) < taken.expiresAt ? taken : undefined;
  });
  if (ceremony === undefined) throw unknownSignIn();
  const { return_to: returnTo } = JSON.parse(ceremony.detail) as { return_to: string };
  return { returnTo };
}

function unknownSignIn(): Problem {
  return new Problem(
    "sign_in_refused",
    "This sign-in was not started in this browser, was already used or has expired. " +
      "Sign in again.",
  );
}
