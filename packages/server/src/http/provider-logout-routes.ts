/**
 * Receives the logout tokens of the identity provider. The signature of the token authenticates the
 * request, so there is no credential and no check of the origin.
 *
 * @see OpenID Connect Back-Channel Logout 1.0, sections 2.5 (request) and 2.8 (response)
 */

import { Problem } from "@countersign/protocol";
import { REVIEW_PATH } from "@countersign/review-api";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Context } from "../context.ts";
import { endProviderSessions } from "../operations/sign-in/endProviderSessions.ts";
import type { Report } from "../report.ts";
import type { Gate } from "./authenticate.ts";
import { sendError, sendJson } from "./exchange.ts";

/** Beside the redirect URI. */
export const PROVIDER_LOGOUT_PATH = `${REVIEW_PATH}/session/oidc/back-channel-logout`;

const BODY_BYTES_MAX = 65_536;

export function addProviderLogoutRoutes(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  report: Report,
): void {
  app.route({
    method: "POST",
    url: PROVIDER_LOGOUT_PATH,
    config: { operation: "endProviderSessions" },
    bodyLimit: BODY_BYTES_MAX,
    errorHandler: (error, request, reply) => {
      if (context.identityProvider === undefined) return sendError(error, request, reply, report);
      return sendLogoutError(error, request, reply, report);
    },
    handler: async (request, reply) => {
      if (context.identityProvider === undefined) throw new Problem("not_found");
      const ended = await gate.chargeFailure(request, () =>
        endProviderSessions(context, logoutToken(request)),
      );
      report.providerLoggedOut(ended);
      return reply.code(200).send();
    },
  });
}

const FORM_TYPE = /^application\/x-www-form-urlencoded[ \t]*(;.*)?$/i;

/** @throws Problem `invalid_credential` without exactly one token */
function logoutToken({ headers, body }: FastifyRequest): string {
  const isForm = FORM_TYPE.test(headers["content-type"] ?? "");
  const text = isForm && body instanceof Uint8Array ? Buffer.from(body).toString() : "";
  const tokens = new URLSearchParams(text).getAll("logout_token");
  const [token] = tokens;
  if (token !== undefined && tokens.length === 1) return token;
  throw new Problem("invalid_credential", "Send one logout_token in a form-encoded body.");
}

/** Answers an error in the form of OAuth 2.0 (RFC 6749, section 5.2). */
function sendLogoutError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  report: Report,
): FastifyReply {
  const problem = reply.server.toProblem(error, request.id);
  request.errorCode = problem.code;
  const { code, message, retryAfterS } = problem;
  if (code === "invalid_credential") report.providerLogoutRefused(message);
  if (retryAfterS !== undefined) reply.header("retry-after", retryAfterS);
  // 429 and 503: the provider can send the same token again.
  const isTemporary = problem.status >= 429;
  const answer = {
    error: isTemporary ? "temporarily_unavailable" : "invalid_request",
    // RFC 6749 permits no quotation marks here.
    error_description: message.replaceAll('"', "'"),
  };
  return sendJson(reply, isTemporary ? problem.status : 400, JSON.stringify(answer));
}
