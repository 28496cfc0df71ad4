/**
 * The routes of the seven operations of the contract. Requests have the fields of enabled
 * extensions too, and a `Link` header to their page when the server has the console.
 *
 * @see contract: Endpoints
 */

import {
  type DeliveryRules,
  OPERATIONS,
  type OperationName,
  Problem,
  parseCreateApprovalRequest,
  parseDuration,
  parseProvisionInstance,
  parseUpdateInstance,
  quoted,
  WAIT_MS_MAX,
} from "@countersign/protocol";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Context } from "../context.ts";
import type { StoredRequest } from "../core/request.ts";
import { deleteInstance } from "../operations/instances/deleteInstance.ts";
import { getInstance } from "../operations/instances/getInstance.ts";
import { provisionInstance } from "../operations/instances/provisionInstance.ts";
import { updateInstance } from "../operations/instances/updateInstance.ts";
import { cancelApprovalRequest } from "../operations/requests/cancelApprovalRequest.ts";
import { createApprovalRequest } from "../operations/requests/createApprovalRequest.ts";
import { getApprovalRequest } from "../operations/requests/getApprovalRequest.ts";
import { showConsumption } from "../operations/requests/showConsumption.ts";
import { callerOf, type Gate } from "./authenticate.ts";
import { type ConsoleLink, createConsoleLink } from "./console-link.ts";
import {
  idempotencyKey,
  jsonBody,
  onDisconnect,
  pathIdentifier,
  sendJson,
  traceparent,
} from "./exchange.ts";
import { writeApprovalRequest, writeInstance, writeProvisioning } from "./wire.ts";

type Handler = (
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  /** Undefined: the server has no console. */
  linkTo: ConsoleLink | undefined,
) => Promise<FastifyReply>;

/** @param hasConsole true when this server serves the console */
export function addContractRoutes(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  hasConsole: boolean,
): void {
  for (const [operation, { method, path, credential }] of Object.entries(OPERATIONS)) {
    const handler = HANDLERS[operation as OperationName];
    const linkTo = hasConsole ? createConsoleLink(context.settings, path) : undefined;
    app.route({
      method,
      url: path,
      config: { operation },
      onRequest: gate.admit(credential),
      preHandler: gate.charge,
      handler: (request, reply) => handler(context, request, reply, linkTo),
    });
  }
}

const HANDLERS: Readonly<Record<OperationName, Handler>> = {
  async provisionInstance(context, request, reply) {
    const caller = callerOf(request, "provisioner");
    const key = idempotencyKey(request);
    const read = (rules: DeliveryRules) => parseProvisionInstance(jsonBody(request), rules);
    const proposed = readProposal(context, read);
    const { outcome, instance, token } = await provisionInstance(context, caller, proposed, key);
    request.subjectId = instance.id;
    return sendJson(reply, outcome === "created" ? 201 : 200, writeProvisioning(instance, token));
  },

  async getInstance(context, request, reply) {
    const caller = callerOf(request, "provisioner");
    const instance = await getInstance(context, caller, pathIdentifier(request));
    return sendJson(reply, 200, writeInstance(instance));
  },

  async updateInstance(context, request, reply) {
    const caller = callerOf(request, "provisioner");
    const key = idempotencyKey(request);
    const id = pathIdentifier(request);
    const read = (rules: DeliveryRules) => parseUpdateInstance(jsonBody(request), rules);
    const instance = await updateInstance(context, caller, id, readProposal(context, read), key);
    return sendJson(reply, 200, writeInstance(instance));
  },

  async deleteInstance(context, request, reply) {
    const caller = callerOf(request, "provisioner");
    await deleteInstance(context, caller, pathIdentifier(request));
    return reply.code(204).send();
  },

  async createApprovalRequest(context, request, reply, linkTo) {
    const caller = callerOf(request, "instance");
    const key = idempotencyKey(request);
    const { extensions } = context.settings;
    const input = parseCreateApprovalRequest(jsonBody(request), extensions);
    const trace = traceparent(request);
    const submission = await createApprovalRequest(context, caller, input, key, trace);
    const { outcome, request: approval, traceId } = submission;
    request.subjectId = approval.id;
    request.traceId = traceId;
    addLink(reply, linkTo, approval);
    if (outcome === "replayed") {
      return sendJson(reply, 200, await writeForInstance(context, approval));
    }
    const extensionFields = { server: extensions.server, consumption: undefined };
    return sendJson(reply, 201, writeApprovalRequest(approval, extensionFields));
  },

  async getApprovalRequest(context, request, reply, linkTo) {
    const caller = callerOf(request, "instance");
    const waitMs = waitParameter(request);
    const id = pathIdentifier(request);
    request.isLongPoll = waitMs > 0;
    const waiting =
      waitMs === 0
        ? undefined
        : { waitMs, onDisconnect: (callback: () => void) => onDisconnect(reply, callback) };
    const approval = await getApprovalRequest(context, caller, id, waiting);
    addLink(reply, linkTo, approval);
    return sendJson(reply, 200, await writeForInstance(context, approval));
  },

  async cancelApprovalRequest(context, request, reply) {
    const caller = callerOf(request, "instance");
    const approval = await cancelApprovalRequest(context, caller, pathIdentifier(request));
    return sendJson(reply, 200, await writeForInstance(context, approval));
  },
};

function addLink(
  reply: FastifyReply,
  linkTo: ConsoleLink | undefined,
  request: StoredRequest,
): void {
  if (linkTo !== undefined) reply.header("link", linkTo(request));
}

/** The response for the instance: the fields of the contract and of enabled extensions. */
async function writeForInstance(context: Context, request: StoredRequest): Promise<string> {
  const { server } = context.settings.extensions;
  const consumption = await showConsumption(context, request);
  return writeApprovalRequest(request, { server, consumption });
}

/**
 * Parses a body that may propose a receiver. Accepts a receiver that only the current settings
 * reject, because it may have been accepted earlier; its replay must be answered.
 *
 * @throws Problem for a receiver that no settings accept
 */
function readProposal<T>(
  { settings: { webhooks } }: Context,
  read: (rules: DeliveryRules) => T,
): T & { readonly refusal: Problem | undefined } {
  const rules = { webhooks: webhooks.enabled, internalNames: webhooks.allowCidrs.length > 0 };
  try {
    return { ...read(rules), refusal: undefined };
  } catch (refusal) {
    if (!(refusal instanceof Problem)) throw refusal;
    try {
      return { ...read({ webhooks: true, internalNames: true }), refusal };
    } catch {
      throw refusal;
    }
  }
}

/**
 * @returns milliseconds to hold, 0 when `wait` is omitted, never more than the contract's cap
 * @throws Problem `invalid_request` with param `wait`
 */
function waitParameter(request: FastifyRequest): number {
  const { wait } = request.query as { wait?: unknown };
  if (wait === undefined) return 0;
  const waitMs = typeof wait === "string" ? parseDuration(wait) : undefined;
  if (waitMs === undefined) {
    const given = typeof wait === "string" ? `, not ${quoted(wait)}` : "";
    const message = `wait must be a whole number followed by s, m or h, like 25s${given}.`;
    throw new Problem("invalid_request", message, { param: "wait" });
  }
  return Math.min(waitMs, WAIT_MS_MAX);
}
