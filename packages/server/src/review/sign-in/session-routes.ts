/**
 * The session of a browser: who is signed in, which project they look at, signing out. Signing in
 * is in the files of the ways to do so.
 */

import { Fields } from "@countersign/protocol";
import type { FastifyInstance } from "fastify";
import type { Context } from "../../context.ts";
import { type Gate, signedInBy } from "../../http/authenticate.ts";
import { jsonBody, sendJson } from "../../http/exchange.ts";
import { clearSessionCookie } from "../../http/session-cookie.ts";
import { endSession } from "../../operations/access/endSession.ts";
import { showSession } from "../../operations/access/showSession.ts";
import { switchProject } from "../../operations/access/switchProject.ts";
import { writeSession } from "./session-wire.ts";

export const SESSION = "/review/v1/session";

export function addSessionRoutes(app: FastifyInstance, context: Context, gate: Gate): void {
  const onRequest = gate.admitPerson;

  app.get(SESSION, { config: { operation: "showSession" }, onRequest }, async (request, reply) => {
    const shown = await showSession(context, signedInBy(request));
    return sendJson(reply, 200, writeSession(shown, context.clock.now()));
  });

  app.delete(
    SESSION,
    { config: { operation: "endSession" }, onRequest },
    async (request, reply) => {
      const signedIn = signedInBy(request);
      await endSession(context, signedIn, signedIn.session.id);
      clearSessionCookie(reply);
      return sendJson(reply, 200, '{"signed_in":false}');
    },
  );

  app.post(
    `${SESSION}/project`,
    { config: { operation: "switchProject" }, onRequest, preHandler: gate.charge },
    async (request, reply) => {
      const fields = new Fields(jsonBody(request), ["project_id"]);
      const projectId = fields.required("project_id", fields.text("project_id", 1));
      const switched = await switchProject(context, signedInBy(request), projectId);
      const shown = await showSession(context, switched);
      return sendJson(reply, 200, writeSession(shown, context.clock.now()));
    },
  );
}
