/**
 * Requests as reviewers meet them: the inbox and what was decided, one of them in full and with
 * its background, verdicts, and votes and held verdicts that are taken back.
 */

import { formatTimestamp } from "@countersign/protocol";
import type { FastifyInstance } from "fastify";
import type { Context } from "../../context.ts";
import { callerOf, type Gate } from "../../http/authenticate.ts";
import { jsonBody, pathIdentifier, sendJson } from "../../http/exchange.ts";
import { relyingPartyOf } from "../../identity/passkeys.ts";
import { castVerdict } from "../../operations/requests/castVerdict.ts";
import { listRequests } from "../../operations/requests/listRequests.ts";
import { showBackground } from "../../operations/requests/showBackground.ts";
import { reviewRequest, showRequest } from "../../operations/requests/showRequest.ts";
import { takeBackVerdict } from "../../operations/requests/takeBackVerdict.ts";
import { verifySignature } from "../../operations/requests/verifySignature.ts";
import { withdrawVote } from "../../operations/requests/withdrawVote.ts";
import { listingParameters } from "../shared/listing-parameters.ts";
import { writeBackground } from "./background-wire.ts";
import { parseVerdict } from "./parse-verdict.ts";
import { writePage, writeReviewedRequest, writeShownRequest } from "./review-wire.ts";

const REQUESTS = "/review/v1/requests";

/** @param publicUrl where people reach this server, and with what their passkeys are bound up */
export function addRequestRoutes(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  publicUrl: () => string,
): void {
  const onRequest = gate.admit("reviewer");

  app.get(
    REQUESTS,
    { config: { operation: "listRequests" }, onRequest },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const listing = listingParameters(request, ["pending", "decided"]);
      const page = await listRequests(context, caller, listing);
      const now = formatTimestamp(context.clock.now());
      return sendJson(reply, 200, writePage(page, now, publicUrl()));
    },
  );

  app.get(
    `${REQUESTS}/:id`,
    { config: { operation: "showRequest" }, onRequest },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const reviewed = await showRequest(context, caller, pathIdentifier(request));
      const now = formatTimestamp(context.clock.now());
      return sendJson(reply, 200, writeShownRequest(reviewed, now, publicUrl()));
    },
  );

  app.get(
    `${REQUESTS}/:id/background`,
    { config: { operation: "showBackground" }, onRequest },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const background = await showBackground(context, caller, pathIdentifier(request));
      const now = formatTimestamp(context.clock.now());
      return sendJson(reply, 200, writeBackground(background, now));
    },
  );

  addVerdictRoutes(app, context, gate, publicUrl);
}

function addVerdictRoutes(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  publicUrl: () => string,
): void {
  const onRequest = gate.admit("reviewer");

  app.post(
    `${REQUESTS}/:id/verdict`,
    { config: { operation: "castVerdict" }, onRequest, preHandler: gate.charge },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const id = pathIdentifier(request);
      const { passkey, ...verdict } = parseVerdict(jsonBody(request));
      const party = relyingPartyOf(publicUrl());
      const signature = await verifySignature(context, party, caller, id, verdict, passkey);
      const stored = await castVerdict(context, caller, id, { ...verdict, signature });
      const reviewed = await reviewRequest(context, caller, stored);
      return sendJson(reply, 200, writeReviewedRequest(reviewed, publicUrl()));
    },
  );

  app.delete(
    `${REQUESTS}/:id/vote`,
    { config: { operation: "withdrawVote" }, onRequest },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const withdrawn = await withdrawVote(context, caller, pathIdentifier(request));
      return sendJson(reply, 200, JSON.stringify({ withdrawn }));
    },
  );

  app.delete(
    `${REQUESTS}/:id/held`,
    { config: { operation: "takeBackVerdict" }, onRequest },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const takenBack = await takeBackVerdict(context, caller, pathIdentifier(request));
      return sendJson(reply, 200, JSON.stringify({ taken_back: takenBack }));
    },
  );
}
