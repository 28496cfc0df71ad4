/**
 * What is somebody's own: sessions and password. With a session only; a token has no account.
 */

import { Fields, formatTimestamp } from "@countersign/protocol";
import type { FastifyInstance } from "fastify";
import type { Context } from "../../context.ts";
import { type Gate, signedInBy } from "../../http/authenticate.ts";
import { jsonBody, pathIdentifier, sendJson } from "../../http/exchange.ts";
import { peerOf } from "../../http/peer.ts";
import { clearSessionCookie } from "../../http/session-cookie.ts";
import type { SignedIn } from "../../identity/caller.ts";
import { endSession } from "../../operations/access/endSession.ts";
import { type ShownAccount, showAccount } from "../../operations/people/showAccount.ts";
import { changePassword } from "../../operations/sign-in/changePassword.ts";
import type { SignInLimits } from "../access/sign-in-limits.ts";

const ACCOUNT = "/review/v1/account";

/** As in sign-in-routes.ts, for two passwords. */
const BODY_BYTES_MAX = 8_192;

export function addAccountRoutes(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  limits: SignInLimits,
): void {
  const onRequest = gate.admitPerson;

  app.get(ACCOUNT, { config: { operation: "showAccount" }, onRequest }, async (request, reply) => {
    const signedIn = signedInBy(request);
    return sendJson(reply, 200, writeAccount(signedIn, await showAccount(context, signedIn)));
  });

  app.delete(
    `${ACCOUNT}/sessions/:id`,
    { config: { operation: "endSession" }, onRequest },
    async (request, reply) => {
      const id = pathIdentifier(request);
      const signedIn = signedInBy(request);
      await endSession(context, signedIn, id);
      if (id === signedIn.session.id) clearSessionCookie(reply);
      return sendJson(reply, 200, JSON.stringify({ ended: id }));
    },
  );

  const bodyLimit = Math.min(BODY_BYTES_MAX, context.settings.bodyBytesMax);
  app.put(
    `${ACCOUNT}/password`,
    { config: { operation: "changePassword" }, onRequest, preHandler: gate.charge, bodyLimit },
    async (request, reply) => {
      const fields = new Fields(jsonBody(request), ["current_password", "new_password"]);
      const change = {
        current: fields.text("current_password", 1),
        next: fields.required("new_password", fields.text("new_password", 1)),
      };
      const signedIn = signedInBy(request);
      const { login } = signedIn.person;
      const passed = limits.begin(login, peerOf(request));
      await changePassword(context, signedIn, change);
      passed();
      return sendJson(reply, 200, '{"changed":true}');
    },
  );
}

function writeAccount(
  { person, session: own }: SignedIn,
  { sessions, passkeys }: ShownAccount,
): string {
  return JSON.stringify({
    person: { id: person.id, login: person.login, name: person.name },
    has_password: person.passwordHash !== null,
    sessions: sessions.map(({ id, method, userAgent, createdAt, seenAt, expiresAt }) => ({
      id,
      method,
      user_agent: userAgent,
      current: id === own.id,
      created_at: formatTimestamp(createdAt),
      seen_at: formatTimestamp(seenAt),
      expires_at: formatTimestamp(expiresAt),
    })),
    passkeys: passkeys.map(({ id, name, createdAt, usedAt }) => ({
      id,
      name,
      created_at: formatTimestamp(createdAt),
      used_at: usedAt === null ? null : formatTimestamp(usedAt),
    })),
  });
}
