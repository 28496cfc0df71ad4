/**
 * The policy of a project, and the floor of the whole server: read, check, simulate, publish, go
 * back. For reviewer tokens. All of them read and check; the rest is for those who may publish.
 */

import { Problem } from "@countersign/protocol";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Context } from "../../context.ts";
import { callerOf, type Gate } from "../../http/authenticate.ts";
import { jsonBody, sendJson, sendJsonLines } from "../../http/exchange.ts";
import type { PolicyScope } from "../../operations/policy/assertMayPublish.ts";
import { checkPolicy } from "../../operations/policy/checkPolicy.ts";
import { listPolicyVersions } from "../../operations/policy/listPolicyVersions.ts";
import { publishPolicy } from "../../operations/policy/publishPolicy.ts";
import { rollbackPolicy } from "../../operations/policy/rollbackPolicy.ts";
import { showPolicy, showTwoPerson } from "../../operations/policy/showPolicy.ts";
import { simulatePolicy } from "../../operations/policy/simulatePolicy.ts";
import { RunSlots } from "../shared/run-slots.ts";
import { parseDraft, parsePublication, parseRollback, parseSimulation } from "./parse-policy.ts";
import { ExaminationLines, operationAbout, PLACES, statusOf } from "./policy-places.ts";
import {
  writeCheck,
  writePolicy,
  writePublished,
  writeSimulationEvent,
  writeVersions,
} from "./policy-wire.ts";
import { addProposalRoutes } from "./proposal-routes.ts";

const SIMULATIONS = {
  own: "A simulation of this project",
  others: "Too many simulations of other projects",
};

/** Of all projects. */
const SIMULATIONS_AT_ONCE_MAX = 2;

export function addPolicyRoutes(app: FastifyInstance, context: Context, gate: Gate): void {
  const slots = new RunSlots(SIMULATIONS, SIMULATIONS_AT_ONCE_MAX);
  const lines = new ExaminationLines();
  app.addHook("preClose", (done) => {
    slots.stop();
    done();
  });
  for (const scope of ["project", "floor"] as const) {
    addReading(app, context, gate, scope);
    addPublishing(app, context, gate, scope, lines);
    addCheck(app, context, gate, scope, lines);
    addSimulation(app, context, gate, scope, slots);
    addProposalRoutes(app, context, gate, scope, lines);
  }
}

function addReading(app: FastifyInstance, context: Context, gate: Gate, scope: PolicyScope): void {
  const path = PLACES[scope];
  const onRequest = gate.admit("reviewer");
  const show = { config: { operation: operationAbout(scope, "show") }, onRequest };
  const list = { config: { operation: `list${scope === "floor" ? "Floor" : "Policy"}Versions` } };

  app.get(path, show, async (request, reply) => {
    const caller = callerOf(request, "reviewer");
    const published = await showPolicy(context, caller, scope);
    const isTwoPerson = await showTwoPerson(context, caller, scope);
    return sendJson(reply, 200, writePolicy(scope, published, isTwoPerson));
  });

  app.get(`${path}/versions`, { ...list, onRequest }, async (request, reply) => {
    const caller = callerOf(request, "reviewer");
    const page = await listPolicyVersions(context, caller, scope, pageParameters(request));
    return sendJson(reply, 200, writeVersions(page));
  });

  app.get(`${path}/versions/:number`, show, async (request, reply) => {
    const caller = callerOf(request, "reviewer");
    const published = await showPolicy(context, caller, scope, pathNumber(request));
    return sendJson(reply, 200, writePolicy(scope, published));
  });
}

function addPublishing(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  scope: PolicyScope,
  lines: ExaminationLines,
): void {
  const path = PLACES[scope];
  const hooks = { onRequest: gate.admit("reviewer"), preHandler: gate.charge };
  const publish = { config: { operation: operationAbout(scope, "publish") }, ...hooks };
  const rollback = { config: { operation: operationAbout(scope, "rollback") }, ...hooks };

  app.post(path, publish, async (request, reply) => {
    const caller = callerOf(request, "reviewer");
    const publication = parsePublication(jsonBody(request));
    const published = await lines.runPublication(caller, scope, () =>
      publishPolicy(context, caller, { ...publication, scope }),
    );
    return sendJson(reply, statusOf(published), writePublished(published));
  });

  app.post(`${path}/rollback`, rollback, async (request, reply) => {
    const caller = callerOf(request, "reviewer");
    const order = parseRollback(jsonBody(request));
    const published = await lines.runPublication(caller, scope, () =>
      rollbackPolicy(context, caller, { ...order, scope }),
    );
    return sendJson(reply, statusOf(published), writePublished(published));
  });
}

function addCheck(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  scope: PolicyScope,
  lines: ExaminationLines,
): void {
  const hooks = { onRequest: gate.admit("reviewer"), preHandler: gate.charge };
  const check = { config: { operation: operationAbout(scope, "check") }, ...hooks };

  app.post(`${PLACES[scope]}/check`, check, async (request, reply) => {
    const caller = callerOf(request, "reviewer");
    const draft = parseDraft(jsonBody(request));
    const examine = () => checkPolicy(context, caller, scope, draft);
    return sendJson(reply, 200, writeCheck(await lines.runCheck(caller, scope, examine)));
  });
}

function addSimulation(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  scope: PolicyScope,
  slots: RunSlots,
): void {
  const path = PLACES[scope];
  const hooks = { onRequest: gate.admit("reviewer"), preHandler: gate.charge };
  const simulate = { config: { operation: operationAbout(scope, "simulate") }, ...hooks };

  app.post(`${path}/simulate`, simulate, async (request, reply) => {
    const caller = callerOf(request, "reviewer");
    const order = parseSimulation(jsonBody(request), context.clock.now());
    const slot = slots.take(caller.projectId);
    try {
      return await sendJsonLines(request, reply, (lines) =>
        simulatePolicy(
          context,
          caller,
          { ...order, scope },
          {
            tell: (event) => lines.write(writeSimulationEvent(event)),
            signal: AbortSignal.any([slot.signal, lines.signal]),
          },
        ),
      );
    } finally {
      slot.release();
    }
  });
}

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 200;

/** @throws Problem `invalid_request` naming the parameter */
function pageParameters(request: FastifyRequest): { below: number; limit: number } {
  const { limit, after } = request.query as Record<string, unknown>;
  const count = limit === undefined ? LIMIT_DEFAULT : toNumber(limit);
  if (count === undefined || count > LIMIT_MAX) {
    const message = `limit must be a whole number from 1 to ${LIMIT_MAX}.`;
    throw new Problem("invalid_request", message, { param: "limit" });
  }
  const below = after === undefined ? Number.MAX_SAFE_INTEGER : toNumber(after);
  if (below === undefined) {
    const message = "after must be the value of next in an earlier answer.";
    throw new Problem("invalid_request", message, { param: "after" });
  }
  return { below, limit: count };
}

/** @throws Problem `not_found`: what is no number names no version */
function pathNumber(request: FastifyRequest): number {
  const number = toNumber((request.params as { number?: string }).number);
  if (number === undefined) throw new Problem("not_found");
  return number;
}

function toNumber(text: unknown): number | undefined {
  return typeof text === "string" && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
}
