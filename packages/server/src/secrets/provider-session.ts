/** Digests of the names that an identity provider gives to its sessions and users. */

import { hashToken } from "./token.ts";

/** @param sid claim of an ID token or logout token */
export function hashProviderSession(issuer: string, sid: string): string {
  return hashToken(JSON.stringify(["sid", issuer, sid]));
}

/** @param sub claim of an ID token or logout token */
export function hashProviderSubject(issuer: string, sub: string): string {
  return hashToken(JSON.stringify(["sub", issuer, sub]));
}
