import { hashProviderSession, hashProviderSubject } from "../../secrets/provider-session.ts";
import { readCeremony } from "../../storage/sql/sign-in/ceremonies.ts";
import type { Reader } from "../../storage/store.ts";

/** Kind in the table `ceremony` of a logout by the identity provider. */
export const PROVIDER_LOGOUT = "oidc_logout";

/**
 * Whether the identity provider has ended the session of an ID token meanwhile. Call it after the
 * commit of the new session.
 *
 * @param issuedAt epoch ms, from the ID token
 */
export async function wasEndedByProvider(
  reader: Reader,
  issuer: string,
  { sid, sub, issuedAt }: { sid: string | undefined; sub: string; issuedAt: number | null },
): Promise<boolean> {
  const ids = [hashProviderSubject(issuer, sub)];
  if (sid !== undefined) ids.push(hashProviderSession(issuer, sid));
  for (const id of ids) {
    const logout = await readCeremony(reader, id, PROVIDER_LOGOUT);
    if (logout === undefined) continue;
    const { issued_at: endedAt } = JSON.parse(logout.detail) as { issued_at: number };
    if (issuedAt === null || issuedAt <= endedAt) return true;
  }
  return false;
}
