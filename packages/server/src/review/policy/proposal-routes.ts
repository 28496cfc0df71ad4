/**
 * Proposals: policies that somebody wrote for another person to publish, of a project and of the
 * floor. For reviewer tokens; reading is for all of them, the rest for those who may publish.
 */

import type { FastifyInstance } from "fastify";
import type { Context } from "../../context.ts";
import { callerOf, type Gate } from "../../http/authenticate.ts";
import { jsonBody, pathIdentifier, sendJson } from "../../http/exchange.ts";
import type { PolicyScope } from "../../operations/policy/assertMayPublish.ts";
import { listProposals, showProposal } from "../../operations/policy/listProposals.ts";
import { proposePolicy } from "../../operations/policy/proposePolicy.ts";
import { publishProposal } from "../../operations/policy/publishProposal.ts";
import { rejectProposal } from "../../operations/policy/rejectProposal.ts";
import { listingParameters } from "../shared/listing-parameters.ts";
import { parseProposal, parseRejection } from "./parse-policy.ts";
import { type ExaminationLines, operationAbout, PLACES, statusOf } from "./policy-places.ts";
import { writePublished } from "./policy-wire.ts";
import { writeProposal, writeProposals } from "./proposal-wire.ts";

export function addProposalRoutes(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  scope: PolicyScope,
  lines: ExaminationLines,
): void {
  const path = `${PLACES[scope]}/proposals`;
  const hooks = { onRequest: gate.admit("reviewer"), preHandler: gate.charge };
  const options = (verb: string, noun: string) => ({
    config: { operation: operationAbout(scope, verb) + noun },
  });
  const { onRequest } = hooks;

  app.get(path, { ...options("list", "Proposals"), onRequest }, async (request, reply) => {
    const caller = callerOf(request, "reviewer");
    const listing = listingParameters(request, ["open", "closed"]);
    const page = await listProposals(context, caller, scope, listing);
    return sendJson(reply, 200, writeProposals(page));
  });

  app.get(`${path}/:id`, { ...options("show", "Proposal"), onRequest }, async (request, reply) => {
    const caller = callerOf(request, "reviewer");
    const shown = await showProposal(context, caller, scope, pathIdentifier(request));
    return sendJson(reply, 200, writeProposal(shown));
  });

  app.post(path, { ...options("propose", ""), ...hooks }, async (request, reply) => {
    const caller = callerOf(request, "reviewer");
    const order = parseProposal(jsonBody(request));
    const propose = () => proposePolicy(context, caller, { ...order, scope });
    const proposed = await lines.runPublication(caller, scope, propose);
    return sendJson(reply, proposed.isNew ? 201 : 200, writeProposal(proposed));
  });

  // Takes no body; one that is sent is not looked at.
  app.post(
    `${path}/:id/publish`,
    { ...options("publish", "Proposal"), ...hooks },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const id = pathIdentifier(request);
      const publish = () => publishProposal(context, caller, scope, id);
      const published = await lines.runPublication(caller, scope, publish);
      return sendJson(reply, statusOf(published), writePublished(published));
    },
  );

  app.post(
    `${path}/:id/reject`,
    { ...options("reject", "Proposal"), ...hooks },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const order = parseRejection(jsonBody(request));
      const id = pathIdentifier(request);
      const rejected = await rejectProposal(context, caller, { ...order, scope, id });
      return sendJson(reply, 200, writeProposal(rejected));
    },
  );
}
