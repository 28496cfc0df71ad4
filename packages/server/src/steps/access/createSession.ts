/** Starts a session for an authenticated user. */

import { Problem, uuidV7 } from "@countersign/protocol";
import { appendAudit } from "../../audit/append-audit.ts";
import type { OidcSettings } from "../../config/oidc-settings.ts";
import type { Context } from "../../context.ts";
import { SESSION_LIFETIME_MS } from "../../core/session.ts";
import { generateOpaque } from "../../secrets/opaque.ts";
import { hashToken } from "../../secrets/token.ts";
import { listMemberships, lockPerson, type StoredPerson } from "../../storage/sql/people/people.ts";
import {
  insertSession,
  listSessions,
  type SignInMethod,
} from "../../storage/sql/sign-in/sessions.ts";
import type { Transaction } from "../../storage/store.ts";
import { endSessions } from "./endSessions.ts";

export interface SessionOrder {
  /** The authenticated user. */
  readonly personId: string;
  readonly method: SignInMethod;
  /** The browser's User-Agent, truncated. */
  readonly userAgent: string;
  /** The project to select; undefined: one of the user's projects. */
  readonly projectId?: string | undefined;
  /** The session at the identity provider; undefined for other methods. */
  readonly provider?: ProviderSession | undefined;
}

/** The ID token of a sign-in, as {@link SessionOrder} needs it. */
export interface ProviderSession {
  /** See hashProviderSession; null without `sid`. */
  readonly hash: string | null;
  /** Epoch ms by the clock of the provider; null without `iat`. */
  readonly issuedAt: number | null;
}

const USER_AGENT_CHARS_MAX = 300;

/** Maximum for one user. One more ends the oldest. */
const SESSIONS_MAX = 20;

/**
 * Signs a user in. Every sign-in method calls it, in the transaction that verified the proof. The
 * cookie value is generated here and never taken from the browser.
 *
 * @returns the cookie value, which is not stored
 * @throws Problem `invalid_credential` when the user does not exist or is disabled; `forbidden`
 * when the user must sign in at the identity provider
 */
export async function createSession(
  tx: Transaction,
  { random, settings }: Pick<Context, "random" | "settings">,
  { personId, method, userAgent, projectId, provider }: SessionOrder,
): Promise<string> {
  const person = await lockPerson(tx, "update", personId);
  if (person === undefined || person.disabledAt !== null) throw new Problem("invalid_credential");
  assertMethod(settings.oidc, method, person.login);
  assertTheirWay(settings.oidc, method, person);
  const now = await tx.now();
  const memberships = await listMemberships(tx, personId);
  const selected = memberships.find((one) => one.projectId === projectId) ?? memberships[0];
  const cookie = generateOpaque(random);
  const session = {
    id: uuidV7(now, random.bytes(10)),
    personId,
    projectId: selected?.projectId ?? "",
    method,
    userAgent: userAgent.slice(0, USER_AGENT_CHARS_MAX).toWellFormed().replaceAll("\0", ""),
    createdAt: now,
    seenAt: now,
    expiresAt: now + SESSION_LIFETIME_MS,
    providerSessionHash: provider?.hash ?? null,
    providerIssuedAt: provider?.issuedAt ?? null,
  };
  const excess = (await listSessions(tx, personId)).slice(SESSIONS_MAX - 1);
  await endSessions(tx, { random }, excess, { by: `person:${personId}`, because: "too many" });
  await insertSession(tx, session, hashToken(cookie));
  await appendAudit(tx, random, {
    at: now,
    projectId: "",
    kind: "session.begun",
    actor: `person:${personId}`,
    subject: `session:${session.id}`,
    detail: { person_id: personId, method, expires_at: session.expiresAt },
  });
  return cookie;
}

/**
 * An account of the identity provider can only sign in there: a local credential would survive a
 * removal at the provider. Checked after the proof, so that only the owner receives the reason.
 *
 * @throws Problem `forbidden`
 */
function assertTheirWay(
  oidc: OidcSettings | undefined,
  method: SignInMethod,
  { login, oidcSubject }: Pick<StoredPerson, "login" | "oidcSubject">,
): void {
  if (oidc === undefined || oidcSubject === null) return;
  if (method === "oidc" || login === oidc.breakGlass) return;
  throw new Problem("forbidden", "Your account signs in at the identity provider.");
}

/**
 * With `oidc_only`, one login may still sign in locally, in case the provider is down. Checked
 * before the proof, so that the answer does not reveal a correct one.
 *
 * @throws Problem `forbidden`
 */
export function assertMethod(
  oidc: OidcSettings | undefined,
  method: SignInMethod,
  login: string | undefined,
): void {
  if (!oidc?.only || method === "oidc" || login === oidc.breakGlass) return;
  throw new Problem(
    "forbidden",
    "Passwords and passkeys are disabled. Sign in at the identity provider.",
  );
}
