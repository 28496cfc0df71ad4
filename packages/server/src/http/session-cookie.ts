/**
 * The session cookie. Browsers accept the `__Host-` prefix only from this host, over a secure
 * connection and for all paths. A sibling domain cannot set it.
 *
 * @see RFC 6265bis, 4.1.3.2 (`__Host-`)
 */

import type { FastifyReply, FastifyRequest } from "fastify";
import { SESSION_LIFETIME_MS } from "../core/session.ts";

const NAME = "__Host-countersign";

const ATTRIBUTES = "Path=/; Secure; HttpOnly; SameSite=Lax";

/** @returns undefined without the cookie; empty, which matches no session, for several */
export function sessionCookie(request: Pick<FastifyRequest, "headers">): string | undefined {
  return cookieNamed(NAME, request);
}

/** As {@link sessionCookie}, for any name. */
export function cookieNamed(
  name: string,
  { headers }: Pick<FastifyRequest, "headers">,
): string | undefined {
  const values: string[] = [];
  for (const pair of (headers.cookie ?? "").split(";")) {
    const equals = pair.indexOf("=");
    if (equals > 0 && pair.slice(0, equals).trim() === name) values.push(pair.slice(equals + 1));
  }
  return values.length > 1 ? "" : values[0]?.trim();
}

/** @param value from createSession */
export function setSessionCookie(reply: FastifyReply, value: string): void {
  const lastsS = SESSION_LIFETIME_MS / 1000;
  reply.header("set-cookie", `${NAME}=${value}; Max-Age=${lastsS}; ${ATTRIBUTES}`);
}

export function clearSessionCookie(reply: FastifyReply): void {
  reply.header("set-cookie", `${NAME}=; Max-Age=0; ${ATTRIBUTES}`);
}
