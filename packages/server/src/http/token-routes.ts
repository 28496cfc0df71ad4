/**
 * The token endpoint of workload identity: OAuth 2.0 Token Exchange on the agent surface. Without
 * the setting, it has no route and returns 404.
 *
 * @see RFC 8693, section 2; RFC 6749, section 5
 */

import type { Problem } from "@countersign/protocol";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Context } from "../context.ts";
import {
  ACCESS_TOKEN_TYPE,
  ExchangeRefusal,
  parseTokenExchange,
  SUBJECT_TOKEN_CHARS_MAX,
} from "../core/token-exchange.ts";
import { exchangeWorkloadToken } from "../operations/instances/exchangeWorkloadToken.ts";
import type { Report } from "../report.ts";
import type { Gate } from "./authenticate.ts";
import { ANSWER_HEADERS, sendJson } from "./exchange.ts";
import { assertNotRepeated } from "./message-fault.ts";

export const TOKEN_PATH = "/agent/v1/token";

/** The token and the other parameters, with characters encoded. */
const BODY_BYTES_MAX = 4 * SUBJECT_TOKEN_CHARS_MAX;

const FORM_TYPE =
  /^application\/x-www-form-urlencoded[ \t]*(;[ \t]*charset *= *"?utf-8"?[ \t]*)?$/i;

export function addTokenRoutes(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  report: Report,
): void {
  if (context.workloadTokens === undefined) return;
  app.route({
    method: "POST",
    url: TOKEN_PATH,
    bodyLimit: BODY_BYTES_MAX,
    config: { operation: "exchangeToken" },
    onRequest: gate.admitExchange,
    errorHandler: (error, request, reply) => sendOauthError(error, request, reply, report),
    handler: async (request, reply) => {
      const issued = await exchangeWorkloadToken(context, parseTokenExchange(formOf(request)));
      request.subjectId = issued.instanceId;
      const answer = {
        access_token: issued.token,
        issued_token_type: ACCESS_TOKEN_TYPE,
        token_type: "Bearer",
        expires_in: Math.floor(issued.lifetimeMs / 1_000),
      };
      return sendJson(reply, 200, JSON.stringify(answer));
    },
  });
}

/** @throws ExchangeRefusal `invalid_request` */
function formOf(request: FastifyRequest): string {
  assertNotRepeated(request.raw, "Content-Type", "Content-Encoding");
  const { body, headers } = request;
  const { "content-type": type = "", "content-encoding": encoding = "identity" } = headers;
  if (!FORM_TYPE.test(type) || encoding !== "identity") {
    const message = "Content-Type must be application/x-www-form-urlencoded.";
    throw new ExchangeRefusal("invalid_request", message);
  }
  return body instanceof Uint8Array ? Buffer.from(body).toString("utf8") : "";
}

/** Answers as RFC 6749, section 5.2. Only the log has an error that is not expected. */
function sendOauthError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  report: Report,
): FastifyReply {
  if (error instanceof ExchangeRefusal) {
    request.errorCode = error.code;
    report.exchangeRefused(error.code, error.message, request.id);
    return send(reply, 400, error.code, error.message);
  }
  const problem = reply.server.toProblem(error, request.id);
  request.errorCode = problem.code;
  if (problem.retryAfterS !== undefined) reply.header("retry-after", problem.retryAfterS);
  return send(reply, problem.status, oauthCodeOf(problem), problem.message);
}

function oauthCodeOf({ status }: Problem): string {
  if (status === 429 || status === 503) return "temporarily_unavailable";
  return status >= 500 ? "server_error" : "invalid_request";
}

function send(reply: FastifyReply, status: number, code: string, message: string): FastifyReply {
  const body = JSON.stringify({ error: code, error_description: message });
  return sendJson(reply.headers(ANSWER_HEADERS), status, body);
}
