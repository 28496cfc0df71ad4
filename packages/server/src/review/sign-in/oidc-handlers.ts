/**
 * Handlers of the sign-in at the identity provider. Both are navigations of a browser, so a failure
 * is a page.
 */

import { invalidField, Problem } from "@countersign/protocol";
import { REVIEW_PATH, type session } from "@countersign/review-api";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Context } from "../../context.ts";
import { parseReturnPath } from "../../core/return-path.ts";
import { Failure } from "../../failure.ts";
import { clearOidcCookie, oidcCookie, setOidcCookie } from "../../http/oidc-cookie.ts";
import type { Handlers } from "../../http/operation-routes.ts";
import { userAgentOf } from "../../http/peer.ts";
import { sessionCookie, setSessionCookie } from "../../http/session-cookie.ts";
import { replaceSession } from "../../operations/access/endSession.ts";
import { beginOidcSignIn } from "../../operations/sign-in/beginOidcSignIn.ts";
import { completeOidcSignIn } from "../../operations/sign-in/completeOidcSignIn.ts";
import { sendOidcPage, wantsPage } from "./oidc-page.ts";

const CALLBACK = `${REVIEW_PATH}/session/oidc/callback`;

const RETURN_DEFAULT = "/inbox";

const RETRY_S = 30;

type OidcOperations = Pick<typeof session, "showWays" | "beginOidcSignIn" | "completeOidcSignIn">;

/** @param publicUrl base URL of this server */
export function oidcHandlers(context: Context, publicUrl: () => string): Handlers<OidcOperations> {
  return {
    async showWays() {
      const { oidc } = context.settings;
      return { oidc: oidc !== undefined, only: oidc?.only === true };
    },

    beginOidcSignIn: ({ query, request, reply }) =>
      orPage(publicUrl, request, reply, async () => {
        const returnTo = parseReturnPath(query.return_to ?? RETURN_DEFAULT);
        if (returnTo === undefined) {
          throw invalidField("return_to", "must be the path of a page of this server");
        }
        const redirectUri = publicUrl() + CALLBACK;
        const { location, cookie } = await beginOidcSignIn(context, { redirectUri, returnTo });
        setOidcCookie(reply, cookie);
        return redirect(reply, location);
      }),

    completeOidcSignIn: ({ request, reply }) =>
      orPage(publicUrl, request, reply, async () => {
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
  };
}

/** The address contains the code, which no other server may receive. */
function redirect(reply: FastifyReply, location: string): FastifyReply {
  reply.header("referrer-policy", "no-referrer");
  return reply.redirect(location, 303);
}

/** Uses the registered address, independent of the name that a proxy or browser uses. */
function callbackOf({ url }: FastifyRequest, publicUrl: string): URL {
  const at = url.indexOf("?");
  return new URL(publicUrl + CALLBACK + (at < 0 ? "" : url.slice(at)));
}

/** Answers an error with a page if the browser accepts one. */
async function orPage(
  publicUrl: () => string,
  request: FastifyRequest,
  reply: FastifyReply,
  answer: () => Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await answer();
  } catch (error) {
    // Logs unexpected errors.
    const reported = reply.server.toProblem(error, request.id);
    const isProvider = error instanceof Failure && error.dependency === "oidc";
    const problem = isProvider
      ? new Problem("unavailable", UNREACHABLE, { retryAfterS: RETRY_S })
      : reported;
    request.errorCode = problem.code;
    reply.header("referrer-policy", "no-referrer");
    if (!wantsPage(request)) throw problem;
    return sendOidcPage(reply, problem, { exchangeId: request.id, publicUrl: publicUrl() });
  }
}

const UNREACHABLE =
  "The identity provider cannot be reached at the moment. Try again soon; open sessions continue.";
