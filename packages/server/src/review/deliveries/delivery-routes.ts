/**
 * Deliveries as an operator looks after them: what waits and why, and a retry before its time.
 * For reviewer tokens only.
 */

import {
  Fields,
  formatTimestamp,
  invalidField,
  type JsonValue,
  parseIdentifier,
} from "@countersign/protocol";
import type { FastifyInstance } from "fastify";
import type { Context } from "../../context.ts";
import { callerOf, type Gate } from "../../http/authenticate.ts";
import { jsonBody, pathIdentifier, sendJson } from "../../http/exchange.ts";
import { listDeliveries } from "../../operations/deliveries/listDeliveries.ts";
import { retryDeliveries } from "../../operations/deliveries/retryDeliveries.ts";
import { retryDelivery } from "../../operations/deliveries/retryDelivery.ts";
import { showDelivery } from "../../operations/deliveries/showDelivery.ts";
import { instanceOfState, listingParameters } from "../shared/listing-parameters.ts";
import { writeDelivery, writeDeliveryPage } from "./delivery-wire.ts";

const DELIVERIES = "/review/v1/deliveries";

export function addDeliveryRoutes(app: FastifyInstance, context: Context, gate: Gate): void {
  const onRequest = gate.admit("reviewer");
  const preHandler = gate.charge;

  app.get(
    DELIVERIES,
    { config: { operation: "listDeliveries" }, onRequest },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const listing = listingParameters(request, ["waiting", "ended"]);
      const instanceId = instanceOfState(request, listing.state, "waiting");
      const page = await listDeliveries(context, caller, { ...listing, instanceId });
      const now = formatTimestamp(context.clock.now());
      return sendJson(reply, 200, writeDeliveryPage(page, now));
    },
  );

  app.get(
    `${DELIVERIES}/:id`,
    { config: { operation: "showDelivery" }, onRequest },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const delivery = await showDelivery(context, caller, pathIdentifier(request));
      return sendJson(reply, 200, writeDelivery(delivery));
    },
  );

  // Takes no body; one that is sent is not looked at.
  app.post(
    `${DELIVERIES}/:id/retry`,
    { config: { operation: "retryDelivery" }, onRequest, preHandler },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const delivery = await retryDelivery(context, caller, pathIdentifier(request));
      return sendJson(reply, 200, writeDelivery(delivery));
    },
  );

  app.post(
    `${DELIVERIES}/retry`,
    { config: { operation: "retryDeliveries" }, onRequest, preHandler },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const instanceId = parseInstance(jsonBody(request));
      request.subjectId = instanceId;
      const hurried = await retryDeliveries(context, caller, instanceId);
      return sendJson(reply, 200, JSON.stringify({ instance_id: instanceId, hurried }));
    },
  );
}

/** @throws Problem `invalid_request` naming the field */
function parseInstance(body: JsonValue): string {
  const fields = new Fields(body, ["instance_id"]);
  const given = fields.required("instance_id", fields.text("instance_id", 1));
  const instanceId = parseIdentifier(given);
  if (instanceId === undefined) throw invalidField("instance_id", "must be the id of an instance");
  return instanceId;
}
