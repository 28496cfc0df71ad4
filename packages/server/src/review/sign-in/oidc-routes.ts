/**
 * Signing in at the identity provider: there and back. Both are navigations of a browser, so that
 * what goes wrong is told by a page.
 */

import { invalidField, Problem } from "@countersign/protocol";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Context } from "../../context.ts";
import { parseReturnPath } from "../../core/return-path.ts";
import { Failure } from "../../failure.ts";
import type { Gate } from "../../http/authenticate.ts";
import { sendJson } from "../../http/exchange.ts";
import { clearOidcCookie, oidcCookie, setOidcCookie } from "../../http/oidc-cookie.ts";
import { userAgentOf } from "../../http/peer.ts";
import { sessionCookie, setSessionCookie } from "../../http/session-cookie.ts";
import { replaceSession } from "../../operations/access/endSession.ts";
import { beginOidcSignIn } from "../../operations/sign-in/beginOidcSignIn.ts";
import { completeOidcSignIn } from "../../operations/sign-in/completeOidcSignIn.ts";
import { sendOidcPage, wantsPage } from "./oidc-page.ts";

const WAYS = "/review/v1/session/ways";
const OIDC = "/review/v1/session/oidc";
const CALLBACK = `${OIDC}/callback`;

const RETURN_DEFAULT = "/inbox";

const RETRY_S = 30;

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** @param publicUrl where people reach this server */
export function addOidcRoutes(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  publicUrl: () => string,
): void {
  // Both change nothing for a person who is signed in; whose browser comes back, the cookie tells.
  const onRequest = gate.admitStranger;

  // What the page offers; it is no secret, and the same for everybody.
  app.get(WAYS, { config: { operation: "showWays" }, onRequest }, async (_, reply) => {
    const { oidc } = context.settings;
    return sendJson(
      reply,
      200,
      JSON.stringify({ oidc: oidc !== undefined, only: oidc?.only === true }),
    );
  });

  app.get(
    OIDC,
    { config: { operation: "beginOidcSignIn" }, onRequest },
    told(publicUrl, async (request, reply) => {
      const returnTo = returnPath(request);
      const redirectUri = publicUrl() + CALLBACK;
      const { location, cookie } = await beginOidcSignIn(context, { redirectUri, returnTo });
      setOidcCookie(reply, cookie);
      return redirect(reply, location);
    }),
  );

  app.get(
    CALLBACK,
    { config: { operation: "completeOidcSignIn" }, onRequest },
    told(publicUrl, async (request, reply) => {
      const { session, returnTo } = await completeOidcSignIn(context, {
        callback: callbackOf(request, publicUrl()),
        cookie: oidcCookie(request),
        userAgent: userAgentOf(request),
      });
      await replaceSession(context, sessionCookie(request));
      clearOidcCookie(reply);
      setSessionCookie(reply, session);
      return redirect(reply, publicUrl() + returnTo);
    }),
  );
}

/** The code is in the address, which no other server is to see. */
function redirect(reply: FastifyReply, location: string): FastifyReply {
  reply.header("referrer-policy", "no-referrer");
  return reply.redirect(location, 303);
}

/** By the address that was registered, whatever a proxy or a browser calls this server. */
function callbackOf({ url }: FastifyRequest, publicUrl: string): URL {
  const at = url.indexOf("?");
  return new URL(publicUrl + CALLBACK + (at < 0 ? "" : url.slice(at)));
}

/** @throws Problem `invalid_request` with param `return_to` */
function returnPath(request: FastifyRequest): string {
  const { return_to: given = RETURN_DEFAULT } = request.query as { return_to?: unknown };
  const path = typeof given === "string" ? parseReturnPath(given) : undefined;
  if (path === undefined) throw invalidField("return_to", "must be the path of a page here");
  return path;
}

/** Tells what went wrong by a page, where the browser takes one. */
function told(publicUrl: () => string, handler: Handler): Handler {
  return async (request, reply) => {
    try {
      return await handler(request, reply);
    } catch (error) {
      // Says so in the log where nobody expected it.
      const told = reply.server.toProblem(error, request.id);
      const isProvider = error instanceof Failure && error.dependency === "oidc";
      const problem = isProvider
        ? new Problem("unavailable", AWAY, { retryAfterS: RETRY_S })
        : told;
      request.errorCode = problem.code;
      reply.header("referrer-policy", "no-referrer");
      if (!wantsPage(request)) throw problem;
      return sendOidcPage(reply, problem, { exchangeId: request.id, publicUrl: publicUrl() });
    }
  };
}

const AWAY =
  "The identity provider cannot be asked at the moment. Try again soon; who is signed in stays so.";
