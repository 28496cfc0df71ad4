/**
 * Invitations, for those who may say who is a reviewer. What the invited do with their link is in
 * sign-in-routes.ts.
 */

import {
  Fields,
  formatDuration,
  formatTimestamp,
  JsonArray,
  type JsonValue,
  parseDuration,
} from "@countersign/protocol";
import type { FastifyInstance } from "fastify";
import type { Context } from "../../context.ts";
import { REVIEWER_ROLES } from "../../core/roles.ts";
import { callerOf, type Gate } from "../../http/authenticate.ts";
import { jsonBody, pathIdentifier, sendJson } from "../../http/exchange.ts";
import {
  createInvitation,
  type InvitationOrder,
  type MadeInvitation,
} from "../../operations/sign-in/createInvitation.ts";
import { listInvitations } from "../../operations/sign-in/listInvitations.ts";
import { revokeInvitation } from "../../operations/sign-in/revokeInvitation.ts";

const INVITATIONS = "/review/v1/invitations";

const LASTS_MS = { default: 72 * 3_600_000, max: 720 * 3_600_000 };

/** @param publicUrl where people reach this server */
export function addInvitationRoutes(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  publicUrl: () => string,
): void {
  const onRequest = gate.admit("reviewer");
  const now = () => context.clock.now();

  app.get(
    INVITATIONS,
    { config: { operation: "listInvitations", looking: "people" }, onRequest },
    async (request, reply) => {
      const invitations = await listInvitations(context, callerOf(request, "reviewer"));
      const items = invitations.map((invitation) => toWire(invitation, now()));
      return sendJson(reply, 200, JSON.stringify({ invitations: items }));
    },
  );

  app.post(
    INVITATIONS,
    { config: { operation: "createInvitation" }, onRequest, preHandler: gate.charge },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const made = await createInvitation(context, caller, parseOrder(jsonBody(request)));
      request.subjectId = made.invitation.id;
      const url = `${publicUrl()}/invitation#${made.token}`;
      return sendJson(reply, 201, JSON.stringify({ ...toWire(made.invitation, now()), url }));
    },
  );

  app.delete(
    `${INVITATIONS}/:id`,
    { config: { operation: "revokeInvitation" }, onRequest },
    async (request, reply) => {
      const id = pathIdentifier(request);
      await revokeInvitation(context, callerOf(request, "reviewer"), id);
      return sendJson(reply, 200, JSON.stringify({ revoked: id }));
    },
  );
}

function toWire(invitation: MadeInvitation["invitation"], now: number): object {
  const { id, name, role, groups, createdAt, createdBy, expiresAt, usedAt } = invitation;
  const unused = now < expiresAt ? "open" : "expired";
  return {
    id,
    state: usedAt === null ? unused : "used",
    name,
    role,
    groups,
    created_at: formatTimestamp(createdAt),
    created_by: createdBy,
    expires_at: formatTimestamp(expiresAt),
    ...(usedAt !== null && { used_at: formatTimestamp(usedAt) }),
  };
}

/** @throws Problem `invalid_request` naming the field */
function parseOrder(body: JsonValue): InvitationOrder {
  const fields = new Fields(body, ["name", "role", "groups", "lasts"]);
  const given = fields.text("role", 1);
  const role = REVIEWER_ROLES.find((known) => known === given);
  if (given !== undefined && role === undefined) {
    throw fields.invalid("role", `must be one of ${REVIEWER_ROLES.join(", ")}`);
  }
  return {
    name: fields.required("name", fields.text("name", 1)),
    role,
    groups: parseGroups(fields),
    lastsMs: parseLasts(fields),
  };
}

function parseGroups(fields: Fields): readonly string[] | undefined {
  const value = fields.value("groups");
  if (value === undefined) return undefined;
  const items = value instanceof JsonArray ? value.items : [null];
  return items.map((item) => {
    if (typeof item !== "string") throw fields.invalid("groups", "must be an array of names");
    return item;
  });
}

function parseLasts(fields: Fields): number {
  const text = fields.text("lasts", 1);
  if (text === undefined) return LASTS_MS.default;
  const ms = parseDuration(text);
  if (ms === undefined || ms === 0) throw fields.invalid("lasts", "must be like 24h");
  if (ms > LASTS_MS.max) {
    throw fields.invalid("lasts", `must not be longer than ${formatDuration(LASTS_MS.max)}`);
  }
  return ms;
}
