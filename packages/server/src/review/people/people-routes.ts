/**
 * Who may do what in a project: its reviewers, persons and bots, and their tokens. For reviewer
 * tokens; looking at people is for all of them, the rest for those with the power `people`.
 */

import { formatTimestamp } from "@countersign/protocol";
import type { FastifyInstance } from "fastify";
import type { Context } from "../../context.ts";
import { callerOf, type Gate } from "../../http/authenticate.ts";
import { jsonBody, pathIdentifier, sendJson } from "../../http/exchange.ts";
import { changeReviewer } from "../../operations/people/changeReviewer.ts";
import {
  listGroups,
  listProjectReviewers,
  type ReviewedReviewer,
  showReviewer,
} from "../../operations/people/listProjectReviewers.ts";
import { removeReviewer } from "../../operations/people/removeReviewer.ts";
import { issueToken } from "../../operations/tokens/issueToken.ts";
import {
  listProjectTokens,
  type ReviewedToken,
} from "../../operations/tokens/listProjectTokens.ts";
import { revokeProjectToken } from "../../operations/tokens/revokeProjectToken.ts";
import { parseReviewerChange, parseTokenOrder } from "./parse-people.ts";

const REVIEWERS = "/review/v1/reviewers";
const TOKENS = "/review/v1/tokens";

export function addPeopleRoutes(app: FastifyInstance, context: Context, gate: Gate): void {
  addReviewers(app, context, gate);
  addTokens(app, context, gate);
}

function addReviewers(app: FastifyInstance, context: Context, gate: Gate): void {
  const onRequest = gate.admit("reviewer");
  const preHandler = gate.charge;
  const named = (operation: string) => ({ config: { operation }, onRequest });

  app.get(REVIEWERS, named("listReviewers"), async (request, reply) => {
    const reviewers = await listProjectReviewers(context, callerOf(request, "reviewer"));
    return sendJson(reply, 200, JSON.stringify({ reviewers: reviewers.map(toWireReviewer) }));
  });

  app.get(`${REVIEWERS}/:id`, named("showReviewer"), async (request, reply) => {
    const caller = callerOf(request, "reviewer");
    const reviewer = await showReviewer(context, caller, pathIdentifier(request));
    return sendJson(reply, 200, JSON.stringify(toWireReviewer(reviewer)));
  });

  app.patch(
    `${REVIEWERS}/:id`,
    { ...named("changeReviewer"), preHandler },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const id = pathIdentifier(request);
      const change = parseReviewerChange(jsonBody(request));
      const reviewer = await changeReviewer(context, caller, id, change);
      return sendJson(reply, 200, JSON.stringify(toWireReviewer(reviewer)));
    },
  );

  app.delete(`${REVIEWERS}/:id`, named("removeReviewer"), async (request, reply) => {
    await removeReviewer(context, callerOf(request, "reviewer"), pathIdentifier(request));
    return reply.code(204).send();
  });

  app.get("/review/v1/groups", named("listGroups"), async (request, reply) => {
    const { reviewers, instances } = await listGroups(context, callerOf(request, "reviewer"));
    const groups = { reviewers: [...reviewers].sort(), instances: [...instances].sort() };
    return sendJson(reply, 200, JSON.stringify(groups));
  });
}

function addTokens(app: FastifyInstance, context: Context, gate: Gate): void {
  const onRequest = gate.admit("reviewer");
  const preHandler = gate.charge;

  app.get(
    TOKENS,
    { config: { operation: "listTokens", looking: "people" }, onRequest },
    async (request, reply) => {
      const tokens = await listProjectTokens(context, callerOf(request, "reviewer"));
      return sendJson(reply, 200, JSON.stringify({ tokens: tokens.map(toWireToken) }));
    },
  );

  app.post(
    TOKENS,
    { config: { operation: "issueToken" }, onRequest, preHandler },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      const order = parseTokenOrder(jsonBody(request));
      const { reviewed, token } = await issueToken(context, caller, order);
      request.subjectId = reviewed.credential.id;
      return sendJson(reply, 201, JSON.stringify({ ...toWireToken(reviewed), token }));
    },
  );

  app.delete(
    `${TOKENS}/:id`,
    { config: { operation: "revokeToken" }, onRequest },
    async (request, reply) => {
      const caller = callerOf(request, "reviewer");
      await revokeProjectToken(context, caller, pathIdentifier(request));
      return reply.code(204).send();
    },
  );
}

function toWireReviewer({ id, name, isBot, role, groups, personId }: ReviewedReviewer): object {
  const kind = isBot ? "bot" : "person";
  return { id, name, kind, role, groups, signs_in: personId !== null };
}

function toWireToken({ credential, holder }: ReviewedToken): object {
  const { id, kind, holderId, scopes, createdAt, expiresAt } = credential;
  const { name, role, isBot } = holder;
  return {
    id,
    kind,
    holder: {
      id: holderId,
      name,
      ...(isBot !== undefined && { kind: isBot ? "bot" : "person", role }),
    },
    scopes,
    created_at: formatTimestamp(createdAt),
    expires_at: expiresAt === null ? null : formatTimestamp(expiresAt),
  };
}
