/**
 * The operations of accepted protocol extensions. The others have no route, so they return 404.
 *
 * @see docs/reference/extensions.md
 */

import {
  EXTENSION_OPERATIONS,
  type ExtensionOperationName,
  Problem,
  parseOutcome,
} from "@countersign/protocol";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Context } from "../context.ts";
import type { InstanceCaller } from "../identity/caller.ts";
import { type ConsumedRequest, consumeApproval } from "../operations/requests/consumeApproval.ts";
import { reportOutcome } from "../operations/requests/reportOutcome.ts";
import { callerOf, type Gate } from "./authenticate.ts";
import { idempotencyKey, jsonBody, pathIdentifier, sendJson } from "./exchange.ts";
import { writeApprovalRequest } from "./wire.ts";

type Handler = (
  context: Context,
  caller: InstanceCaller,
  request: FastifyRequest,
) => Promise<ConsumedRequest>;

export function addExtensionRoutes(app: FastifyInstance, context: Context, gate: Gate): void {
  const { extensions } = context.settings;
  for (const [operation, { extension, method, path, credential }] of Object.entries(
    EXTENSION_OPERATIONS,
  )) {
    if (!extensions[extension]) continue;
    const handler = HANDLERS[operation as ExtensionOperationName];
    app.route({
      method,
      url: path,
      config: { operation },
      onRequest: gate.admit(credential),
      preHandler: gate.charge,
      handler: async (request, reply) => {
        const consumed = await handler(context, callerOf(request, credential), request);
        return answer(context, reply, consumed);
      },
    });
  }
}

const HANDLERS: Readonly<Record<ExtensionOperationName, Handler>> = {
  async consumeApproval(context, caller, request) {
    const key = idempotencyKey(request);
    assertNoBody(request);
    return consumeApproval(context, caller, pathIdentifier(request), key);
  },

  async reportOutcome(context, caller, request) {
    const id = pathIdentifier(request);
    return reportOutcome(context, caller, id, parseOutcome(jsonBody(request)));
  },
};

function answer(
  { settings: { extensions } }: Context,
  reply: FastifyReply,
  { request, consumption }: ConsumedRequest,
): FastifyReply {
  const { server } = extensions;
  return sendJson(reply, 200, writeApprovalRequest(request, { server, consumption }));
}

/** A body may have a meaning for the caller, so it is rejected instead of ignored. */
function assertNoBody({ body }: FastifyRequest): void {
  if (!(body instanceof Uint8Array) || body.length === 0) return;
  throw new Problem("invalid_request", "This operation does not accept a body. Send none.", {
    param: "body",
  });
}
