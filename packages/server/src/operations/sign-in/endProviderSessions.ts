import { Problem } from "@countersign/protocol";
import type { Context } from "../../context.ts";
import { writeSubject } from "../../core/claims.ts";
import { endsSession, type ProviderLogout, readLogoutToken } from "../../core/logout-token.ts";
import { OIDC_CEREMONY_MS } from "../../core/session.ts";
import { hashProviderSession, hashProviderSubject } from "../../secrets/provider-session.ts";
import { endSessions } from "../../steps/access/endSessions.ts";
import { PROVIDER_LOGOUT } from "../../steps/sign-in/wasEndedByProvider.ts";
import { lockPerson } from "../../storage/sql/people/people.ts";
import { extendCeremony } from "../../storage/sql/sign-in/ceremonies.ts";
import { readPersonIdBySubject } from "../../storage/sql/sign-in/oidc-people.ts";
import {
  listProviderSessions,
  listSessions,
  type StoredSession,
} from "../../storage/sql/sign-in/sessions.ts";
import type { Transaction } from "../../storage/store.ts";

/**
 * Ends the sessions of a logout token: those of the session at the identity provider, or all
 * sessions that the user started there. Tokens of the user stay valid. Repeating it changes
 * nothing.
 *
 * @param token a logout token, unverified
 * @returns the number of ended sessions
 * @throws Problem `not_found` without a provider, `invalid_credential` for an invalid token;
 * Failure when the provider is unavailable
 */
export async function endProviderSessions(context: Context, token: string): Promise<number> {
  const { store, settings, identityProvider } = context;
  if (identityProvider === undefined || settings.oidc === undefined) throw new Problem("not_found");
  const { issuer } = settings.oidc;
  const logout = readLogoutToken(await identityProvider.verifyLogoutToken(token));
  // Committed first. A concurrent sign-in commits its session and then reads this row, so either
  // that sign-in or the next transaction finds the other one.
  await store.transact((tx) => recordLogout(tx, issuer, logout));
  return store.transact(async (tx) => {
    const { sid, issuedAt } = logout;
    const hash = sid === undefined ? undefined : hashProviderSession(issuer, sid);
    const found = await findSessions(tx, issuer, logout);
    const ended = found.filter((session) => endsSession({ hash, issuedAt }, session));
    const end = {
      by: "system:provider-logout",
      because: "signed out at the identity provider",
    } as const;
    await endSessions(tx, context, ended, end);
    return ended.length;
  });
}

async function recordLogout(
  tx: Transaction,
  issuer: string,
  { sid, sub = "", issuedAt }: ProviderLogout,
): Promise<void> {
  await extendCeremony(tx, {
    id: sid === undefined ? hashProviderSubject(issuer, sub) : hashProviderSession(issuer, sid),
    kind: PROVIDER_LOGOUT,
    personId: null,
    detail: JSON.stringify({ issued_at: issuedAt }),
    expiresAt: issuedAt + OIDC_CEREMONY_MS,
  });
}

/** With both claims, only sessions of this user: the provider could use one `sid` for several. */
async function findSessions(
  tx: Transaction,
  issuer: string,
  { sid, sub }: ProviderLogout,
): Promise<StoredSession[]> {
  if (sub === undefined) {
    return sid === undefined ? [] : listProviderSessions(tx, hashProviderSession(issuer, sid));
  }
  const personId = await readPersonIdBySubject(tx, writeSubject(issuer, sub));
  if (personId === undefined) return [];
  await lockPerson(tx, "update", personId);
  return listSessions(tx, personId);
}
