/**
 * Instances as those see them who administer a project: the groups that rules know them by, and
 * their owners. For reviewer tokens only.
 */

import {
  Fields,
  formatTimestamp,
  JsonArray,
  type JsonValue,
  type Problem,
} from "@countersign/protocol";
import type { FastifyInstance } from "fastify";
import type { Context } from "../context.ts";
import { callerOf, type Gate } from "../http/authenticate.ts";
import { jsonBody, pathIdentifier, sendJson } from "../http/exchange.ts";
import { groupInstance, type InstanceChange } from "../operations/groupInstance.ts";
import { listInstances, type ReviewedInstance, showInstance } from "../operations/listInstances.ts";
import { pageParameters } from "./listing-parameters.ts";

const INSTANCES = "/review/v1/instances";

export function addInstanceRoutes(app: FastifyInstance, context: Context, gate: Gate): void {
  const onRequest = gate.admit("reviewer");

  app.get(
    INSTANCES,
    { config: { operation: "listInstances" }, onRequest },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const page = await listInstances(context, caller, pageParameters(request));
      const items = page.instances.map(writeInstance).join(",");
      const next = JSON.stringify(page.next ?? null);
      return sendJson(reply, 200, `{"instances":[${items}],"next":${next}}`);
    },
  );

  app.get(
    `${INSTANCES}/:id`,
    { config: { operation: "showInstance" }, onRequest },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const instance = await showInstance(context, caller, pathIdentifier(request));
      return sendJson(reply, 200, writeInstance(instance));
    },
  );

  app.patch(
    `${INSTANCES}/:id`,
    { config: { operation: "groupInstance" }, onRequest, preHandler: gate.charge },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const id = pathIdentifier(request);
      await groupInstance(context, caller, id, parseChange(jsonBody(request)));
      return sendJson(reply, 200, writeInstance(await showInstance(context, caller, id)));
    },
  );
}

function writeInstance({ instance, owner }: ReviewedInstance): string {
  const { id, name, groups, createdAt } = instance;
  const rest = JSON.stringify({ groups, owner, created_at: formatTimestamp(createdAt) });
  // A name is JSON text as it was written, and stays so.
  return `{"id":"${id}","name":${name},${rest.slice(1)}`;
}

/** @throws Problem `invalid_request` naming the field */
function parseChange(body: JsonValue): InstanceChange {
  const fields = new Fields(body, ["groups", "owner"]);
  const groups = fields.value("groups");
  const isNobody = fields.value("owner") === null;
  const owner = isNobody ? null : fields.text("owner", 1);
  // Not every database can be asked for it.
  if (owner?.includes("\0")) throw fields.invalid("owner", "must not hold the character U+0000");
  return {
    groups: groups === undefined ? undefined : parseGroups(groups, fields),
    owner,
  };
}

/** @throws Problem `invalid_request` */
function parseGroups(value: JsonValue, fields: Fields): string[] {
  const wrong = (): Problem => fields.invalid("groups", "must be an array of names");
  if (!(value instanceof JsonArray)) throw wrong();
  return value.items.map((item) => {
    if (typeof item !== "string") throw wrong();
    return item;
  });
}
