/**
 * The reviewer surface in its first form: list, show, give a verdict. For reviewer tokens only;
 * an agent's credential never reaches it.
 */

import { formatTimestamp, Problem, parseIdentifier } from "@countersign/protocol";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Context } from "../context.ts";
import { callerOf, type Gate } from "../http/authenticate.ts";
import { jsonBody, pathIdentifier, sendJson } from "../http/exchange.ts";
import { castVerdict } from "../operations/castVerdict.ts";
import { type Listing, listRequests } from "../operations/listRequests.ts";
import { showRequest } from "../operations/showRequest.ts";
import { parseVerdict } from "./parse-verdict.ts";
import { writePage, writeReviewedRequest } from "./review-wire.ts";

const REQUESTS = "/review/v1/requests";

export function addReviewRoutes(app: FastifyInstance, context: Context, gate: Gate): void {
  const onRequest = gate.admit("reviewer");

  app.get(
    REQUESTS,
    { config: { operation: "listRequests" }, onRequest },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const page = await listRequests(context, caller, listingParameters(request));
      const now = formatTimestamp(context.clock.now());
      return sendJson(reply, 200, writePage(page, now));
    },
  );

  app.get(
    `${REQUESTS}/:id`,
    { config: { operation: "showRequest" }, onRequest },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const reviewed = await showRequest(context, caller, pathIdentifier(request));
      return sendJson(reply, 200, writeReviewedRequest(reviewed));
    },
  );

  app.post(
    `${REQUESTS}/:id/verdict`,
    { config: { operation: "castVerdict" }, onRequest, preHandler: gate.charge },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const id = pathIdentifier(request);
      await castVerdict(context, caller, id, parseVerdict(jsonBody(request)));
      const reviewed = await showRequest(context, caller, id);
      return sendJson(reply, 200, writeReviewedRequest(reviewed));
    },
  );
}

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 200;

/** @throws Problem `invalid_request` naming the parameter */
function listingParameters(request: FastifyRequest): Listing {
  const { state = "pending", limit, after } = request.query as Record<string, unknown>;
  if (state !== "pending" && state !== "decided") {
    throw wrong("state", "must be pending or decided");
  }
  const isNumber = typeof limit === "string" && /^[1-9]\d{0,2}$/.test(limit);
  const count = limit === undefined ? LIMIT_DEFAULT : isNumber ? Number(limit) : 0;
  if (count < 1 || count > LIMIT_MAX) {
    throw wrong("limit", `must be a whole number from 1 to ${LIMIT_MAX}`);
  }
  return { state, limit: count, after: after === undefined ? undefined : parseCursor(after) };
}

function parseCursor(text: unknown): NonNullable<Listing["after"]> {
  const [at = "", id = ""] = typeof text === "string" ? text.split("_") : [];
  const identifier = parseIdentifier(id);
  if (!/^\d{1,15}$/.test(at) || identifier === undefined) {
    throw wrong("after", "must be the value of next in an earlier answer");
  }
  return { at: Number(at), id: identifier };
}

function wrong(param: string, rule: string): Problem {
  return new Problem("invalid_request", `${param} ${rule}.`, { param });
}
