/**
 * Instances as those see them who administer a project: made and deleted, the groups that rules
 * know them by, their owners, and what they are doing. For reviewers only.
 */

import {
  Fields,
  formatTimestamp,
  JsonArray,
  type JsonValue,
  type Problem,
} from "@countersign/protocol";
import type { FastifyInstance } from "fastify";
import type { Context } from "../../context.ts";
import { callerOf, type Gate } from "../../http/authenticate.ts";
import { jsonBody, pathIdentifier, sendJson } from "../../http/exchange.ts";
import { createInstance, type InstanceOrder } from "../../operations/instances/createInstance.ts";
import { deleteInstance } from "../../operations/instances/deleteInstance.ts";
import { groupInstance, type InstanceChange } from "../../operations/instances/groupInstance.ts";
import {
  listInstances,
  type ReceiverHealth,
  type ReviewedAssignment,
  type ReviewedInstance,
  showInstance,
} from "../../operations/instances/listInstances.ts";
import { toWireAttempt } from "../deliveries/delivery-wire.ts";
import { pageParameters } from "../shared/listing-parameters.ts";

const INSTANCES = "/review/v1/instances";

export function addInstanceRoutes(app: FastifyInstance, context: Context, gate: Gate): void {
  const onRequest = gate.admit("reviewer");

  app.get(
    INSTANCES,
    { config: { operation: "listInstances" }, onRequest },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const page = await listInstances(context, caller, pageParameters(request));
      const items = page.instances.map((each) => writeInstance(each)).join(",");
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

  app.post(
    INSTANCES,
    { config: { operation: "createInstance" }, onRequest, preHandler: gate.charge },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const { id, token } = await createInstance(context, caller, parseOrder(jsonBody(request)));
      request.subjectId = id;
      return sendJson(reply, 201, writeInstance(await showInstance(context, caller, id), token));
    },
  );

  // Takes no body; one that is sent is not looked at.
  app.delete(
    `${INSTANCES}/:id`,
    { config: { operation: "removeInstance" }, onRequest, preHandler: gate.charge },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const id = pathIdentifier(request);
      await deleteInstance(context, caller, id);
      return sendJson(reply, 200, JSON.stringify({ deleted: id }));
    },
  );

  app.patch(
    `${INSTANCES}/:id`,
    { config: { operation: "groupInstance" }, onRequest, preHandler: gate.charge },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const id = pathIdentifier(request);
      const change = parseChange(jsonBody(request));
      const { isProposed } = await groupInstance(context, caller, id, change);
      const instance = writeInstance(await showInstance(context, caller, id));
      return sendJson(reply, isProposed ? 202 : 200, instance);
    },
  );
}

function writeInstance(
  { instance, owner, proposal, activity }: ReviewedInstance,
  credential?: string,
): string {
  const { id, name, groups, createdAt } = instance;
  const { pending, lastRequestAt, receiver } = activity;
  const rest = JSON.stringify({
    groups,
    owner,
    created_at: formatTimestamp(createdAt),
    pending,
    last_request_at: lastRequestAt === undefined ? null : formatTimestamp(lastRequestAt),
    receiver: receiver === null ? null : toWireHealth(receiver),
    ...(proposal !== null && { proposed_change: toWireProposal(proposal) }),
    ...(credential !== undefined && { credential }),
  });
  // A name is JSON text as it was written, and stays so.
  return `{"id":"${id}","name":${name},${rest.slice(1)}`;
}

function toWireProposal({ groups, owner, proposer, proposedAt }: ReviewedAssignment): object {
  return {
    groups,
    owner,
    proposer,
    proposed_at: formatTimestamp(proposedAt),
  };
}

function toWireHealth({ origin, verifiedAt, waiting, worst }: ReceiverHealth): object {
  return {
    origin,
    verified_at: formatTimestamp(verifiedAt),
    waiting,
    ...(worst !== undefined && {
      attempts: worst.attempts,
      next_attempt_at: formatTimestamp(worst.nextAt),
      ...(worst.last !== null && { last_attempt: toWireAttempt(worst.last) }),
    }),
  };
}

const NAME_CHARS_MAX = 128;

/** @throws Problem `invalid_request` naming the field */
function parseOrder(body: JsonValue): InstanceOrder {
  const fields = new Fields(body, ["name", "owner", "groups"]);
  const name = fields.text("name", 1);
  if (name !== undefined && name.length > NAME_CHARS_MAX) {
    throw fields.invalid("name", `must have at most ${NAME_CHARS_MAX} characters`);
  }
  const groups = fields.value("groups");
  return {
    name,
    groups: groups === undefined ? [] : parseGroups(groups, fields),
    owner: parseOwner(fields) ?? null,
  };
}

/** Null is nobody. */
function parseOwner(fields: Fields): string | null | undefined {
  const owner = fields.value("owner") === null ? null : fields.text("owner", 1);
  // Not every database can be asked for it.
  if (owner?.includes("\0")) throw fields.invalid("owner", "must not hold the character U+0000");
  return owner;
}

/** @throws Problem `invalid_request` naming the field */
function parseChange(body: JsonValue): InstanceChange {
  const fields = new Fields(body, ["groups", "owner"]);
  const groups = fields.value("groups");
  return {
    groups: groups === undefined ? undefined : parseGroups(groups, fields),
    owner: parseOwner(fields),
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
