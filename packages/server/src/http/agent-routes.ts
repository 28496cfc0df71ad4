/**
 * The operations for agents beyond the contract: the agent surface, and the enabled extensions. A
 * disabled extension has no route, so it returns 404.
 *
 * @see docs/reference/extensions.md
 */

import {
  AGENT_OPERATIONS,
  type AgentOperationName,
  Problem,
  parseOutcome,
} from "@countersign/protocol";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Context } from "../context.ts";
import type { InstanceCaller } from "../identity/caller.ts";
import { type ConsumedRequest, consumeApproval } from "../operations/requests/consumeApproval.ts";
import { reportOutcome } from "../operations/requests/reportOutcome.ts";
import { callerOf, type Gate } from "./authenticate.ts";
import { idempotencyKey, jsonBody, pathIdentifier, sendJson } from "./exchange.ts";
import { writeApprovalRequest, writeConsumedApproval } from "./wire.ts";

/** Returns the JSON text of a 200. */
type Handler = (
  context: Context,
  caller: InstanceCaller,
  request: FastifyRequest,
) => Promise<string>;

export function addAgentRoutes(app: FastifyInstance, context: Context, gate: Gate): void {
  const { extensions } = context.settings;
  for (const [operation, row] of Object.entries(AGENT_OPERATIONS)) {
    const { extension, method, path, credential } = row;
    if (extension !== undefined && !extensions[extension]) continue;
    const handler = HANDLERS[operation as AgentOperationName];
    app.route({
      method,
      url: path,
      config: { operation },
      onRequest: gate.admit(credential),
      preHandler: gate.charge,
      handler: async (request, reply) => {
        const json = await handler(context, callerOf(request, credential), request);
        return sendJson(reply, 200, json);
      },
    });
  }
}

const HANDLERS: Readonly<Record<AgentOperationName, Handler>> = {
  async consumeAgentApproval(context, caller, request) {
    const consumed = await consume(context, caller, request);
    return writeConsumedApproval(consumed.request, consumed.consumption);
  },

  async consumeApproval(context, caller, request) {
    return writeExtended(context, await consume(context, caller, request));
  },

  async reportOutcome(context, caller, request) {
    const id = pathIdentifier(request);
    const outcome = parseOutcome(jsonBody(request));
    return writeExtended(context, await reportOutcome(context, caller, id, outcome));
  },
};

/** Both routes record the same consumption: the same key is a replay on either of them. */
function consume(
  context: Context,
  caller: InstanceCaller,
  request: FastifyRequest,
): Promise<ConsumedRequest> {
  const key = idempotencyKey(request);
  assertNoBody(request);
  return consumeApproval(context, caller, pathIdentifier(request), key);
}

function writeExtended(
  { settings: { extensions } }: Context,
  { request, consumption }: ConsumedRequest,
): string {
  return writeApprovalRequest(request, { server: extensions.server, consumption });
}

/** A body may have a meaning for the caller, so it is rejected instead of ignored. */
function assertNoBody({ body }: FastifyRequest): void {
  if (!(body instanceof Uint8Array) || body.length === 0) return;
  throw new Problem("invalid_request", "This operation does not accept a body. Send none.", {
    param: "body",
  });
}
