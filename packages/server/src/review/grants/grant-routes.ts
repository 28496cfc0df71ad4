/**
 * Grants: what reviewers approve beforehand. For reviewer tokens only; an agent can neither make
 * nor see one.
 */

import { formatDuration, formatTimestamp } from "@countersign/protocol";
import type { FastifyInstance } from "fastify";
import type { Context } from "../../context.ts";
import { stateOf } from "../../core/grant.ts";
import { callerOf, type Gate } from "../../http/authenticate.ts";
import { jsonBody, optionalIdempotencyKey, pathIdentifier, sendJson } from "../../http/exchange.ts";
import { createGrant } from "../../operations/grants/createGrant.ts";
import {
  type GrantPage,
  listGrants,
  type ReviewedGrant,
} from "../../operations/grants/listGrants.ts";
import { revokeGrant } from "../../operations/grants/revokeGrant.ts";
import { showGrant } from "../../operations/grants/showGrant.ts";
import { instanceOfState, listingParameters, writeCursor } from "../shared/listing-parameters.ts";
import { parseGrant } from "./parse-grant.ts";

const GRANTS = "/review/v1/grants";

export function addGrantRoutes(app: FastifyInstance, context: Context, gate: Gate): void {
  const onRequest = gate.admit("reviewer");
  const preHandler = gate.charge;
  const now = () => context.clock.now();

  app.get(GRANTS, { config: { operation: "listGrants" }, onRequest }, async (request, reply) => {
    const caller = callerOf(request, "reviewer");
    const listing = listingParameters(request, ["active", "ended"]);
    const instanceId = instanceOfState(request, listing.state, "active");
    const page = await listGrants(context, caller, { ...listing, instanceId });
    return sendJson(reply, 200, writeGrantPage(page, now()));
  });

  app.post(
    GRANTS,
    { config: { operation: "createGrant" }, onRequest, preHandler },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const key = optionalIdempotencyKey(request);
      const made = await createGrant(context, caller, parseGrant(jsonBody(request)), key);
      request.subjectId = made.grant.id;
      return sendJson(reply, made.isNew ? 201 : 200, writeGrant(made, now()));
    },
  );

  app.get(
    `${GRANTS}/:id`,
    { config: { operation: "showGrant" }, onRequest },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const grant = await showGrant(context, caller, pathIdentifier(request));
      return sendJson(reply, 200, writeGrant(grant, now()));
    },
  );

  // Takes no body; one that is sent is not looked at.
  app.post(
    `${GRANTS}/:id/revoke`,
    { config: { operation: "revokeGrant" }, onRequest, preHandler },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const grant = await revokeGrant(context, caller, pathIdentifier(request));
      return sendJson(reply, 200, writeGrant(grant, now()));
    },
  );
}

function writeGrant({ grant, instanceName, reviewerName }: ReviewedGrant, now: number): string {
  const { id, instanceId, terms, revokedAt } = grant;
  const { tool, server, when, session, note, validityMs } = terms;
  // A name is JSON text as it was written, and stays so.
  const instance = `{"id":"${instanceId}","name":${instanceName}}`;
  const rest = JSON.stringify({
    reviewer: { id: grant.reviewerId, name: reviewerName },
    tool,
    server,
    when,
    session,
    note,
    ...(validityMs !== undefined && { valid_for: formatDuration(validityMs) }),
    calls: grant.calls,
    calls_max: grant.callsMax,
    created_at: formatTimestamp(grant.createdAt),
    expires_at: formatTimestamp(grant.expiresAt),
    ...(revokedAt !== null && {
      revoked_at: formatTimestamp(revokedAt),
      revoked_by: grant.revokedBy,
    }),
  });
  const state = stateOf(grant, now);
  return `{"id":"${id}","state":"${state}","instance":${instance},${rest.slice(1)}`;
}

/** @param now the server's time: a countdown must not depend on the reader's clock */
function writeGrantPage({ grants, next }: GrantPage, now: number): string {
  const items = grants.map((grant) => writeGrant(grant, now)).join(",");
  const at = formatTimestamp(now);
  return `{"grants":[${items}],"next":${writeCursor(next)},"now":"${at}"}`;
}
