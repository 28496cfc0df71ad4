/**
 * The logout token of an identity provider: its claims, and the sessions that it ends. Pure.
 *
 * @see OpenID Connect Back-Channel Logout 1.0, sections 2.4 (token) and 2.6 (validation)
 */

import { Problem } from "@countersign/protocol";
import type { Claims } from "./claims.ts";

/** How long a logout token is accepted after its `iat`, as a duration of jose. */
export const LOGOUT_TOKEN_AGE_MAX = "5m";

export interface ProviderLogout {
  /** The session at the provider; undefined: all sessions of the subject. */
  readonly sid: string | undefined;
  /** Undefined: all users of the session. */
  readonly sub: string | undefined;
  /** Epoch ms, by the clock of the provider. */
  readonly issuedAt: number;
}

/** The parts of a session that determine whether a logout ends it. */
export interface ProviderSessionState {
  readonly method: string;
  readonly providerSessionHash: string | null;
  readonly providerIssuedAt: number | null;
}

const EVENT = "http://schemas.openid.net/event/backchannel-logout";

/** OpenID Connect Core, section 2. */
const SUB_CHARS_MAX = 255;

/**
 * Reads the claims of a token with a verified signature, issuer, audience and times.
 *
 * @throws Problem `invalid_credential` for a token that is not a logout token
 */
export function readLogoutToken(claims: Claims): ProviderLogout {
  const { iat, jti, nonce, sid, sub } = claims;
  if (!hasEvent(claims.events)) throw refused(`events must contain an object ${EVENT}`);
  // An ID token has a nonce, and must not become a logout token.
  if (nonce !== undefined) throw refused("nonce must be absent");
  if (typeof jti !== "string" || jti === "") throw refused("jti must be a string");
  if (typeof iat !== "number") throw refused("iat must be a number");
  if (!isOptionalText(sid)) throw refused("sid must be a string");
  if (!isOptionalText(sub)) throw refused("sub must be a string");
  if (sub !== undefined && sub.length > SUB_CHARS_MAX) throw refused("sub is too long");
  if (sid === undefined && sub === undefined) throw refused("sid or sub is required");
  return { sid, sub, issuedAt: toEpochMs(iat) };
}

function hasEvent(events: unknown): boolean {
  if (typeof events !== "object" || events === null || !Object.hasOwn(events, EVENT)) return false;
  const event: unknown = (events as Readonly<Record<string, unknown>>)[EVENT];
  return typeof event === "object" && event !== null && !Array.isArray(event);
}

function isOptionalText(value: unknown): value is string | undefined {
  return value === undefined || (typeof value === "string" && value !== "");
}

function refused(reason: string): Problem {
  return new Problem("invalid_credential", `Invalid logout token: ${reason}.`);
}

/** @param seconds the claim `iat` */
export function toEpochMs(seconds: number): number {
  return Math.floor(seconds * 1_000);
}

/**
 * Whether a logout ends a session of its user.
 *
 * The provider issued both times, so differences between clocks do not matter. A session that
 * started after the logout continues: a replayed logout token cannot end it. For this reason, the
 * server does not store `jti`. A session with an unknown provider session ends, because it could be
 * the one of the logout.
 *
 * @param hash digest of `sid`; undefined: all sessions of the user
 */
export function endsSession(
  { hash, issuedAt }: { readonly hash: string | undefined; readonly issuedAt: number },
  { method, providerSessionHash, providerIssuedAt }: ProviderSessionState,
): boolean {
  if (method !== "oidc") return false;
  if (providerIssuedAt !== null && providerIssuedAt > issuedAt) return false;
  return hash === undefined || providerSessionHash === null || providerSessionHash === hash;
}
