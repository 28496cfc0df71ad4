/**
 * Freezes: what is denied until somebody lifts it. For reviewer tokens only.
 */

import { Fields, formatTimestamp, type JsonValue, parseIdentifier } from "@countersign/protocol";
import type { FastifyInstance } from "fastify";
import type { Context } from "../../context.ts";
import { FREEZE_SCOPES } from "../../core/freeze.ts";
import { callerOf, type Gate } from "../../http/authenticate.ts";
import { jsonBody, pathIdentifier, sendJson } from "../../http/exchange.ts";
import { type FreezeOrder, freezeCalls } from "../../operations/freezes/freezeCalls.ts";
import { liftFreeze } from "../../operations/freezes/liftFreeze.ts";
import { type FreezePage, listFreezes } from "../../operations/freezes/listFreezes.ts";
import { listingParameters, writeCursor } from "../shared/listing-parameters.ts";
import { writeFreeze } from "./freeze-wire.ts";

const FREEZES = "/review/v1/freezes";

const NOTE_CHARS_MAX = 2_000;

export function addFreezeRoutes(app: FastifyInstance, context: Context, gate: Gate): void {
  const onRequest = gate.admit("reviewer");
  const preHandler = gate.charge;

  app.get(FREEZES, { config: { operation: "listFreezes" }, onRequest }, async (request, reply) => {
    const caller = callerOf(request, "reviewer");
    const listing = listingParameters(request, ["in_force", "lifted"]);
    const page = await listFreezes(context, caller, listing);
    return sendJson(reply, 200, writeFreezePage(page, formatTimestamp(context.clock.now())));
  });

  app.post(
    FREEZES,
    { config: { operation: "freezeCalls" }, onRequest, preHandler },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const order = parseFreeze(jsonBody(request));
      request.subjectId = order.instanceId;
      const frozen = await freezeCalls(context, caller, order);
      const rest = `,"denied":${frozen.denied},"complete":${frozen.isComplete}}`;
      return sendJson(reply, frozen.isNew ? 201 : 200, writeFreeze(frozen).slice(0, -1) + rest);
    },
  );

  // Takes no body; one that is sent is not looked at.
  app.post(
    `${FREEZES}/:id/lift`,
    { config: { operation: "liftFreeze" }, onRequest, preHandler },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const lifted = await liftFreeze(context, caller, pathIdentifier(request));
      return sendJson(reply, 200, writeFreeze(lifted));
    },
  );
}

/** @throws Problem `invalid_request` naming the field */
function parseFreeze(body: JsonValue): FreezeOrder {
  const fields = new Fields(body, ["scope", "instance_id", "note"]);
  const given = fields.required("scope", fields.text("scope", 1));
  const scope = FREEZE_SCOPES.find((known) => known === given);
  if (scope === undefined) throw fields.invalid("scope", "must be instance, project or server");
  const id = fields.text("instance_id", 1);
  if (scope !== "instance" && id !== undefined) {
    throw fields.invalid("instance_id", "belongs to the scope instance only");
  }
  const instanceId = id === undefined ? undefined : parseIdentifier(id);
  if (scope === "instance" && instanceId === undefined) {
    throw fields.invalid("instance_id", "must be the id of an instance");
  }
  const note = fields.text("note", 1);
  if (note !== undefined && note.length > NOTE_CHARS_MAX) {
    throw fields.invalid("note", `must not be longer than ${NOTE_CHARS_MAX} characters`);
  }
  // Not every database stores it.
  if (note?.includes("\0")) throw fields.invalid("note", "must not hold the character U+0000");
  return { scope, instanceId, note };
}

/** @param now the server's time */
function writeFreezePage({ freezes, next }: FreezePage, now: string): string {
  const items = freezes.map(writeFreeze).join(",");
  return `{"freezes":[${items}],"next":${writeCursor(next)},"now":"${now}"}`;
}
