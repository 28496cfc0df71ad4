/**
 * Hooks over HTTP: a coding agent sends the input of a hook, and receives its answer after the
 * decision. No process starts on the machine of the agent.
 *
 * Every response other than 200 is a failed hook. The agent must be configured to block the call
 * then (`onFailure: "block"`).
 *
 * @see docs/reference/hooks.md
 */

import { randomUUID } from "node:crypto";
import {
  type Agent,
  findAgent,
  foreignAgent,
  type HookInput,
  type HookOutput,
  readHookInput,
  SILENT,
  UnusableInput,
} from "@countersign/agents";
import {
  type CreateApprovalRequestInput,
  formatDuration,
  joinToolName,
  Problem,
  parseCreateApprovalRequest,
  parseDuration,
  parseJson,
} from "@countersign/protocol";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Context } from "../context.ts";
import type { StoredRequest } from "../core/request.ts";
import type { InstanceCaller } from "../identity/caller.ts";
import { cancelApprovalRequest } from "../operations/requests/cancelApprovalRequest.ts";
import { consumeApproval } from "../operations/requests/consumeApproval.ts";
import { createApprovalRequest } from "../operations/requests/createApprovalRequest.ts";
import { getApprovalRequest } from "../operations/requests/getApprovalRequest.ts";
import { callerOf, type Gate } from "./authenticate.ts";
import { JSON_TYPE, jsonBody, onDisconnect, sendStream, traceparent } from "./exchange.ts";

/** The default time limit of HTTP hooks in Claude Code is 10 minutes. */
const WAIT_DEFAULT = "9m";

/** Below the time after which common proxies close a connection without traffic. */
const KEEPALIVE_MS = 15_000;

/** @param accepting false when the server stops, which ends all waits */
export function addHookRoutes(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  accepting: () => boolean,
): void {
  app.route({
    method: "POST",
    url: "/hooks/:agent",
    config: { operation: "answerHook" },
    onRequest: gate.admit("instance"),
    preHandler: gate.charge,
    handler: (request, reply) => answerHook(context, request, reply, accepting),
  });
}

async function answerHook(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  accepting: () => boolean,
): Promise<FastifyReply> {
  const caller = callerOf(request, "instance");
  const agent = agentOf(request);
  const timeout = timeoutOf(request);
  const hook = readInput(request, agent);
  const input = submissionOf(hook, timeout, context);
  const trace = traceparent(request);
  const submission = await createApprovalRequest(context, caller, input, hook.key, trace);
  const { request: created } = submission;
  request.subjectId = created.id;
  const gone = goneSignal(reply);
  const { output } = hook.event;
  const options = {
    headers: { "content-type": JSON_TYPE },
    failed: ({ message }: Problem) => denial(output, message),
  };
  return sendStream(request, reply, options, async ({ write }) => {
    let approval = created;
    while (approval.decision === null) {
      if (gone.aborted || !accepting()) {
        await cancelIfPending(context, caller, created.id);
        throw new Problem("unavailable");
      }
      // White space, which JSON permits before the answer.
      await write(" ");
      approval = await waitForDecision(context, caller, created.id, gone);
    }
    await write(await answerOf(context, caller, approval, output));
  });
}

/** @throws Problem `not_found` for an agent without hooks over HTTP */
function agentOf(request: FastifyRequest): Agent {
  const agent = findAgent((request.params as { readonly agent: string }).agent);
  if (agent?.hasHttpHooks) return agent;
  throw new Problem("not_found");
}

/** @throws Problem `invalid_request` with param `wait` */
function timeoutOf(request: FastifyRequest): string {
  const { wait = WAIT_DEFAULT } = request.query as { readonly wait?: unknown };
  const waitMs = typeof wait === "string" ? parseDuration(wait) : undefined;
  if (waitMs !== undefined) return formatDuration(waitMs);
  const message = "wait must be a whole number followed by s, m or h, such as 9m.";
  throw new Problem("invalid_request", message, { param: "wait" });
}

/** @throws Problem for input that does not describe a call */
function readInput(request: FastifyRequest, agent: Agent): HookInput {
  jsonBody(request);
  const bytes = request.body as Uint8Array;
  const foreign = foreignAgent(bytes, agent);
  try {
    if (foreign === undefined) return readHookInput(bytes, agent);
  } catch (error) {
    if (!(error instanceof UnusableInput)) throw error;
    throw new Problem("invalid_request", error.message, { param: "body" });
  }
  const message = `${foreign} sent this input to the address for ${agent.title}.`;
  throw new Problem("invalid_request", message, { param: "body" });
}

/** The request of the call. Without the extension `server`, the tool has the joined name. */
function submissionOf(
  { tool, server, arguments: args, context: sent }: HookInput,
  timeout: string,
  { settings: { extensions } }: Context,
): CreateApprovalRequestInput {
  const isJoined = server !== undefined && !extensions.server;
  const members = [
    `"tool":${JSON.stringify(isJoined ? joinToolName(server, tool) : tool)}`,
    `"arguments":${args.source}`,
    `"context":${sent.source}`,
    `"timeout":${JSON.stringify(timeout)}`,
  ];
  if (server !== undefined && !isJoined) members.push(`"server":${JSON.stringify(server)}`);
  return parseCreateApprovalRequest(parseJson(`{${members.join(",")}}`), extensions);
}

/** Aborted when the client disconnects, or closes its side: an agent then no longer waits. */
function goneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  onDisconnect(reply, () => gone.abort());
  return gone.signal;
}

/** Waits until the decision, the end of the connection, or the next keepalive. */
async function waitForDecision(
  context: Context,
  caller: InstanceCaller,
  id: string,
  gone: AbortSignal,
): Promise<StoredRequest> {
  const polled = new AbortController();
  const onDisconnect = (callback: () => void) => {
    if (gone.aborted) callback();
    else gone.addEventListener("abort", callback, { signal: polled.signal });
  };
  try {
    const waiting = { waitMs: KEEPALIVE_MS, onDisconnect };
    return await getApprovalRequest(context, caller, id, waiting);
  } finally {
    polled.abort();
  }
}

/** An approval is used before the answer, so the same call is not allowed twice. */
async function answerOf(
  context: Context,
  caller: InstanceCaller,
  { id, status, decision }: StoredRequest,
  output: HookOutput,
): Promise<string> {
  if (status !== "approved") {
    const note = decision?.note == null ? undefined : (JSON.parse(decision.note) as string);
    return denial(
      output,
      note === undefined ? `${REASONS[status]}.` : `${REASONS[status]}: ${note}`,
    );
  }
  try {
    await consumeApproval(context, caller, id, randomUUID());
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return denial(output, error.message);
  }
  return output.approved === SILENT ? "" : output.approved;
}

const REASONS: Readonly<Record<StoredRequest["status"], string>> = {
  approved: "This call was approved",
  denied: "This call was denied",
  expired: "No reviewer decided about this call in time. This is not a denial",
  cancelled: "The request of this call was cancelled",
  pending: "No reviewer has decided about this call",
};

function denial({ denied }: HookOutput, reason: string): string {
  if (denied === undefined) throw new Error("An agent with HTTP hooks needs a denial as output");
  return denied(`Countersign: ${reason}`);
}

async function cancelIfPending(
  context: Context,
  caller: InstanceCaller,
  id: string,
): Promise<void> {
  try {
    await cancelApprovalRequest(context, caller, id);
  } catch (error) {
    // A decision was faster.
    if (!(error instanceof Problem)) throw error;
  }
}
