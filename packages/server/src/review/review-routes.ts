/**
 * The reviewer surface in its first form: list, show, give a verdict; look after deliveries. For
 * reviewers, with a token or signed in; an agent's credential never reaches it.
 */

import { formatTimestamp } from "@countersign/protocol";
import type { FastifyInstance } from "fastify";
import type { Context } from "../context.ts";
import { callerOf, type Gate } from "../http/authenticate.ts";
import { jsonBody, pathIdentifier, sendJson } from "../http/exchange.ts";
import { relyingPartyOf } from "../identity/passkeys.ts";
import { castVerdict } from "../operations/castVerdict.ts";
import { listRequests } from "../operations/listRequests.ts";
import { reviewRequest, showRequest } from "../operations/showRequest.ts";
import { verifySignature } from "../operations/verifySignature.ts";
import { withdrawVote } from "../operations/withdrawVote.ts";
import { addAccountRoutes } from "./account-routes.ts";
import { addAuditRoutes } from "./audit-routes.ts";
import { addChannelRoutes } from "./channel-routes.ts";
import { addDeliveryRoutes } from "./delivery-routes.ts";
import { addFreezeRoutes } from "./freeze-routes.ts";
import { addGrantRoutes } from "./grant-routes.ts";
import { addInstanceRoutes } from "./instance-routes.ts";
import { addInvitationRoutes } from "./invitation-routes.ts";
import { listingParameters } from "./listing-parameters.ts";
import { addOidcRoutes } from "./oidc-routes.ts";
import { addPageRoutes } from "./page-routes.ts";
import { parseVerdict } from "./parse-verdict.ts";
import { addPasskeyRoutes } from "./passkey-routes.ts";
import { addPeopleRoutes } from "./people-routes.ts";
import { addPolicyRoutes } from "./policy-routes.ts";
import { writePage, writeReviewedRequest } from "./review-wire.ts";
import { addSessionRoutes } from "./session-routes.ts";
import { SignInLimits } from "./sign-in-limits.ts";
import { addSignInRoutes } from "./sign-in-routes.ts";

const REQUESTS = "/review/v1/requests";

/** @param publicUrl where people reach this server; asked for when it listens */
export function addReviewRoutes(
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
      return sendJson(reply, 200, writeReviewedRequest(reviewed, publicUrl()));
    },
  );

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

  addAuditRoutes(app, context, gate);
  addDeliveryRoutes(app, context, gate);
  addPolicyRoutes(app, context, gate);
  addInstanceRoutes(app, context, gate);
  addFreezeRoutes(app, context, gate);
  addGrantRoutes(app, context, gate);
  const limits = new SignInLimits(context.clock);
  addOidcRoutes(app, context, gate, publicUrl);
  addSessionRoutes(app, context, gate);
  addSignInRoutes(app, context, gate, limits);
  addPasskeyRoutes(app, context, gate, publicUrl, limits);
  addAccountRoutes(app, context, gate, limits);
  addPageRoutes(app, context);
  addInvitationRoutes(app, context, gate, publicUrl);
  addPeopleRoutes(app, context, gate);
  addChannelRoutes(app, context, gate);
}
