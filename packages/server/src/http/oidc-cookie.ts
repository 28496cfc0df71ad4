/**
 * The cookie that ties an answer of the identity provider to the browser that started the sign-in.
 * The provider's redirect is a navigation from another site: hence `Lax`.
 */

import type { FastifyReply, FastifyRequest } from "fastify";
import { OIDC_CEREMONY_MS } from "../core/session.ts";
import { cookieNamed } from "./session-cookie.ts";

const NAME = "__Host-countersign-oidc";

const ATTRIBUTES = "Path=/; Secure; HttpOnly; SameSite=Lax";

/** As `sessionCookie`. */
export function oidcCookie(request: Pick<FastifyRequest, "headers">): string | undefined {
  return cookieNamed(NAME, request);
}

/** @param value from beginOidcSignIn */
export function setOidcCookie(reply: FastifyReply, value: string): void {
  reply.header("set-cookie", `${NAME}=${value}; Max-Age=${OIDC_CEREMONY_MS / 1000}; ${ATTRIBUTES}`);
}

export function clearOidcCookie(reply: FastifyReply): void {
  reply.header("set-cookie", `${NAME}=; Max-Age=0; ${ATTRIBUTES}`);
}
