/**
 * Signing in with a password, and what somebody with a link does. Nobody is known yet: all of it
 * comes from pages of ours, is small, and is counted. Passkeys and identity providers have files
 * of their own.
 */

import { Fields, formatTimestamp, Problem } from "@countersign/protocol";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Context } from "../../context.ts";
import { type Gate, signedInBy } from "../../http/authenticate.ts";
import { jsonBody, sendJson } from "../../http/exchange.ts";
import { peerOf, userAgentOf } from "../../http/peer.ts";
import { sessionCookie } from "../../http/session-cookie.ts";
import { authenticateSession } from "../../operations/access/authenticateSession.ts";
import { replaceSession } from "../../operations/access/endSession.ts";
import { showSession } from "../../operations/access/showSession.ts";
import { acceptInvitation, joinProject } from "../../operations/sign-in/acceptInvitation.ts";
import { type OpenInvitation, openInvitation } from "../../operations/sign-in/openInvitation.ts";
import { recordRefusedSignIn } from "../../operations/sign-in/recordRefusedSignIn.ts";
import { signInWithPassword } from "../../operations/sign-in/signInWithPassword.ts";
import type { SignInLimits } from "../access/sign-in-limits.ts";
import { SESSION } from "./session-routes.ts";
import { sendSignedIn, writeSession } from "./session-wire.ts";

const INVITATION = "/review/v1/invitation";

/** More than the longest password and login, written in escapes. */
const BODY_BYTES_MAX = 8_192;

export function addSignInRoutes(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  limits: SignInLimits,
): void {
  const onRequest = gate.admitStranger;
  const bodyLimit = Math.min(BODY_BYTES_MAX, context.settings.bodyBytesMax);

  app.post(
    SESSION,
    { config: { operation: "signIn" }, onRequest, bodyLimit },
    async (request, reply) => {
      const fields = new Fields(jsonBody(request), ["login", "password"]);
      const login = fields.required("login", fields.text("login", 1));
      const password = fields.required("password", fields.text("password", 1));
      const order = { login, password, userAgent: userAgentOf(request) };
      const passed = limits.begin(login, peerOf(request));
      try {
        const cookie = await signInWithPassword(context, order);
        passed();
        await replaceSession(context, sessionCookie(request));
        return await sendSignedIn(reply, context, cookie);
      } catch (error) {
        const isRefusal = error instanceof Problem && error.code === "invalid_credential";
        if (isRefusal) recordLater(context, request, limits, login);
        else passed();
        throw error;
      }
    },
  );

  addInvitedRoutes(app, context, gate, bodyLimit);
}

/** What somebody with a link does: looks what it is for, and uses it. */
function addInvitedRoutes(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  bodyLimit: number,
): void {
  const onRequest = gate.admitStranger;

  app.post(
    INVITATION,
    { config: { operation: "openInvitation" }, onRequest, bodyLimit },
    async (request, reply) => {
      const fields = new Fields(jsonBody(request), ["token"]);
      const token = fields.required("token", fields.text("token", 1));
      return sendJson(reply, 200, writeInvitation(await openInvitation(context, token)));
    },
  );

  app.post(
    `${INVITATION}/use`,
    { config: { operation: "useInvitation" }, onRequest, bodyLimit },
    async (request, reply) => {
      const fields = new Fields(jsonBody(request), ["token", "login", "name", "password"]);
      const cookie = await acceptInvitation(context, {
        token: fields.required("token", fields.text("token", 1)),
        login: fields.text("login", 1),
        name: fields.text("name", 1),
        password: fields.required("password", fields.text("password", 1)),
        userAgent: userAgentOf(request),
      });
      await replaceSession(context, sessionCookie(request));
      return sendSignedIn(reply, context, cookie, 201);
    },
  );

  app.post(
    `${INVITATION}/join`,
    {
      config: { operation: "joinProject" },
      onRequest: gate.admitPerson,
      preHandler: gate.charge,
      bodyLimit,
    },
    async (request, reply) => {
      const fields = new Fields(jsonBody(request), ["token"]);
      const token = fields.required("token", fields.text("token", 1));
      await joinProject(context, signedInBy(request), token);
      const again = await authenticateSession(context, sessionCookie(request) ?? "");
      const shown = await showSession(context, again);
      return sendJson(reply, 200, writeSession(shown, context.clock.now()));
    },
  );
}

/** When the refusal is on its way: what it takes to write it down would tell who is known. */
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

function writeInvitation(invitation: OpenInvitation): string {
  const { kind, project, role, groups, name, login, expiresAt } = invitation;
  return JSON.stringify({
    kind,
    project,
    role,
    groups,
    name,
    login,
    expires_at: formatTimestamp(expiresAt),
  });
}
