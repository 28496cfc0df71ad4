/**
 * Handlers of sessions: sign in with a password or at the identity provider, use a link, sign out.
 */

import { formatTimestamp, Problem } from "@countersign/protocol";
import type { OpenedInvitation, session, Writable } from "@countersign/review-api";
import type { FastifyRequest } from "fastify";
import type { Context } from "../../context.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import { peerOf, userAgentOf } from "../../http/peer.ts";
import { clearSessionCookie, sessionCookie } from "../../http/session-cookie.ts";
import { authenticateSession } from "../../operations/access/authenticateSession.ts";
import { endSession, replaceSession } from "../../operations/access/endSession.ts";
import { showSession } from "../../operations/access/showSession.ts";
import { acceptInvitation, joinProject } from "../../operations/sign-in/acceptInvitation.ts";
import { type OpenInvitation, openInvitation } from "../../operations/sign-in/openInvitation.ts";
import { recordRefusedSignIn } from "../../operations/sign-in/recordRefusedSignIn.ts";
import { signInWithPassword } from "../../operations/sign-in/signInWithPassword.ts";
import type { SignInLimits } from "../access/sign-in-limits.ts";
import { oidcHandlers } from "./oidc-handlers.ts";
import { setSession, toWireSession } from "./session-to-wire.ts";

/** @param publicUrl base URL of this server */
export function sessionHandlers(
  context: Context,
  publicUrl: () => string,
  limits: SignInLimits,
): Handlers<typeof session> {
  const now = () => context.clock.now();
  return {
    async showSession({ caller }) {
      return toWireSession(await showSession(context, caller), now());
    },

    async signIn({ body: { login, password }, request, reply }) {
      const order = { login, password, userAgent: userAgentOf(request) };
      const passed = limits.chargeAttempt(login, peerOf(request));
      try {
        const cookie = await signInWithPassword(context, order);
        passed();
        await replaceSession(context, sessionCookie(request));
        return await setSession(reply, context, cookie);
      } catch (error) {
        const isRefusal = error instanceof Problem && error.code === "invalid_credential";
        if (isRefusal) recordLater(context, request, limits, login);
        else passed();
        throw error;
      }
    },

    async signOut({ caller, reply }) {
      await endSession(context, caller, caller.session.id);
      clearSessionCookie(reply);
      return { signed_in: false };
    },

    async openInvitation({ body }) {
      return toWireInvitation(await openInvitation(context, body.token));
    },

    async useInvitation({ body: { token, login, name, password }, request, reply }) {
      const userAgent = userAgentOf(request);
      const cookie = await acceptInvitation(context, { token, login, name, password, userAgent });
      await replaceSession(context, sessionCookie(request));
      return setSession(reply, context, cookie);
    },

    async joinProject({ caller, body, request }) {
      await joinProject(context, caller, body.token);
      const again = await authenticateSession(context, sessionCookie(request) ?? "");
      return toWireSession(await showSession(context, again), now());
    },

    ...oidcHandlers(context, publicUrl),
  };
}

/** Records after the answer: the duration would reveal which logins exist. */
function recordLater(
  context: Context,
  request: FastifyRequest,
  limits: SignInLimits,
  login: string,
): void {
  if (!limits.mayRecord(login)) return;
  context.clock.after(0, () => {
    recordRefusedSignIn(context, login, "password").catch((error: unknown) => {
      request.server.toProblem(error, request.id);
    });
  });
}

function toWireInvitation(invitation: OpenInvitation): Writable<OpenedInvitation> {
  const { kind, project, role, groups, name, login, expiresAt } = invitation;
  return { kind, project, role, groups, name, login, expires_at: formatTimestamp(expiresAt) };
}
