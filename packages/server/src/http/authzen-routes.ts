/**
 * The OpenID Authorization API and its profile for access requests: a second API over the requests
 * of the contract. The operator enables it. A disabled API has no route, so it returns 404.
 *
 * @see docs/guides/authzen.md
 */

import { setImmediate } from "node:timers/promises";
import { formatDuration, Problem } from "@countersign/protocol";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { requestPageOf } from "../config/public-url.ts";
import type { Context } from "../context.ts";
import { AccessRefusal, refusalUri } from "../core/access-refusal.ts";
import {
  type AccessRequest,
  parseAccessRequest,
  parseCancellation,
} from "../core/access-request.ts";
import {
  type AuthzenBatch,
  type AuthzenQuestion,
  contextOf,
  objectOf,
  parseBatch,
  parseQuestion,
} from "../core/authzen.ts";
import {
  isRequestable,
  type WrittenDecision,
  writeDecision,
  writeMetadata,
  writeTask,
} from "../core/authzen-answer.ts";
import type { StoredRequest } from "../core/request.ts";
import type { InstanceCaller } from "../identity/caller.ts";
import { cancelApprovalRequest } from "../operations/requests/cancelApprovalRequest.ts";
import { createApprovalRequest } from "../operations/requests/createApprovalRequest.ts";
import { evaluateCall } from "../operations/requests/evaluateCall.ts";
import { findSubmission } from "../operations/requests/findSubmission.ts";
import { getApprovalRequest } from "../operations/requests/getApprovalRequest.ts";
import { hashIdempotencyKey } from "../secrets/keyring.ts";
import { callerOf, type Gate } from "./authenticate.ts";
import { bindDenial, type VerifiedDenial, verifyDenial } from "./authzen-denial.ts";
import {
  jsonBody,
  optionalIdempotencyKey,
  pathIdentifier,
  sendJson,
  traceparent,
} from "./exchange.ts";

/** Relative to the base address of the contract. */
const TASKS = "/access/v1/requests";

/** Pause before the next poll of a pending task. */
const POLL_S = 5;

type Handler = (
  caller: InstanceCaller,
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<FastifyReply>;

type SendError = (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply;

/**
 * @param publicUrl base URL of this server; called once it listens
 * @param hasConsole true when this server serves the console
 */
export function addAuthzenRoutes(
  app: FastifyInstance,
  context: Context,
  gate: Gate,
  publicUrl: () => string,
  hasConsole: boolean,
): void {
  const routes = new AuthzenRoutes(app, context, gate, publicUrl, hasConsole);
  routes.addMetadata();
  routes.addEvaluations();
  routes.addTasks();
}

class AuthzenRoutes {
  readonly #app: FastifyInstance;
  readonly #context: Context;
  readonly #gate: Gate;
  readonly #publicUrl: () => string;
  readonly #hasConsole: boolean;

  constructor(
    app: FastifyInstance,
    context: Context,
    gate: Gate,
    publicUrl: () => string,
    hasConsole: boolean,
  ) {
    this.#app = app;
    this.#context = context;
    this.#gate = gate;
    this.#publicUrl = publicUrl;
    this.#hasConsole = hasConsole;
  }

  /** Public, as the API requires. The path of the base URL follows the well-known path. */
  addMetadata(): void {
    const { publicUrl = "http://localhost", pathPrefix } = this.#context.settings;
    const path = new URL(publicUrl).pathname.replace(/\/$/, "") + pathPrefix;
    this.#app.get(
      `/.well-known/authzen-configuration${path}`,
      { config: { operation: "readAuthzenMetadata" } },
      async (_, reply) => sendJson(reply, 200, JSON.stringify(writeMetadata(this.#base()))),
    );
  }

  addEvaluations(): void {
    this.#add("POST", "/access/v1/evaluation", "evaluateCall", sendText, async (...exchange) => {
      const [caller, request, reply] = exchange;
      const question = parseQuestion(jsonBody(request));
      return send(reply, 200, await this.#evaluate(caller, question));
    });
    this.#add("POST", "/access/v1/evaluations", "evaluateCalls", sendText, async (...exchange) => {
      const [caller, request, reply] = exchange;
      const batch = parseBatch(jsonBody(request));
      if (!("questions" in batch)) return send(reply, 200, await this.#evaluate(caller, batch));
      this.#gate.chargeMore(request, batch.questions.length - 1);
      return send(reply, 200, { evaluations: await this.#evaluateAll(caller, batch) });
    });
  }

  addTasks(): void {
    this.#add("POST", TASKS, "submitAccessRequest", sendProblem, async (caller, request, reply) => {
      const submission = parseAccessRequest(jsonBody(request), caller.instanceId);
      const denial = verifyDenial(this.#context, caller, submission);
      const approval = await this.#submit(caller, request, submission, denial);
      request.subjectId = approval.id;
      reply.header("location", this.#taskUrl(approval));
      return this.#sendTask(reply, approval.status === "pending" ? 202 : 201, approval);
    });
    this.#add("GET", `${TASKS}/:id`, "readAccessRequest", sendProblem, async (...exchange) => {
      const [caller, request, reply] = exchange;
      const approval = await this.#read(caller, request);
      if (approval.status === "pending") reply.header("retry-after", POLL_S);
      return this.#sendTask(reply, 200, approval);
    });
    const cancel: Handler = async (caller, request, reply) => {
      if (request.body instanceof Uint8Array && request.body.length > 0) {
        parseCancellation(jsonBody(request));
      }
      const current = await this.#read(caller, request);
      if (current.status !== "pending") throw new AccessRefusal("invalid_task_state");
      const approval = await cancelApprovalRequest(this.#context, caller, current.id);
      return this.#sendTask(reply, 200, approval);
    };
    this.#add("POST", `${TASKS}/:id/cancel`, "cancelAccessRequest", sendProblem, cancel);
  }

  async #evaluate(caller: InstanceCaller, question: AuthzenQuestion): Promise<WrittenDecision> {
    const evaluation = await evaluateCall(this.#context, caller, question);
    if (!isRequestable(evaluation)) return writeDecision(evaluation, undefined);
    return writeDecision(evaluation, {
      endpoint: this.#base() + TASKS,
      ...bindDenial(this.#context, caller, question, evaluation.at),
    });
  }

  /**
   * One after another, and other exchanges can run before each question. So a batch
   * uses no more of the server than single questions.
   */
  async #evaluateAll(
    caller: InstanceCaller,
    { questions, semantic }: AuthzenBatch,
  ): Promise<WrittenDecision[]> {
    const last = {
      execute_all: undefined,
      deny_on_first_deny: false,
      permit_on_first_permit: true,
    };
    const decisions: WrittenDecision[] = [];
    for (const question of questions) {
      await setImmediate();
      const decision =
        question instanceof Problem
          ? failedDecision(question)
          : await this.#evaluate(caller, question);
      decisions.push(decision);
      if (decision.decision === last[semantic]) break;
    }
    return decisions;
  }

  async #submit(
    caller: InstanceCaller,
    request: FastifyRequest,
    { extras }: AccessRequest,
    { question, added, bindingToken, isExpired }: VerifiedDenial,
  ): Promise<StoredRequest> {
    const { timeoutMs } = this.#context.settings.authzen;
    const shown = new Map(extras);
    if (added.size > 0) shown.set("added_context", objectOf(added));
    const input = {
      tool: question.tool,
      arguments: question.arguments,
      timeout: formatDuration(timeoutMs),
      timeoutMs,
      agentReasoning: question.reasoning,
      context: contextOf(question, shown),
    };
    // Without a key, one denial is the reason for one request.
    const key = optionalIdempotencyKey(request) ?? `authzen ${hashIdempotencyKey(bindingToken)}`;
    if (isExpired) {
      const earlier = await findSubmission(this.#context, caller, input, key);
      if (earlier === undefined) throw new AccessRefusal("expired_denial");
      return earlier;
    }
    const trace = traceparent(request);
    const submitted = await createApprovalRequest(this.#context, caller, input, key, trace);
    request.traceId = submitted.traceId;
    return submitted.request;
  }

  #read(caller: InstanceCaller, request: FastifyRequest): Promise<StoredRequest> {
    return getApprovalRequest(this.#context, caller, pathIdentifier(request));
  }

  #sendTask(reply: FastifyReply, status: number, request: StoredRequest): FastifyReply {
    const url = this.#taskUrl(request);
    const links = {
      status: url,
      cancel: `${url}/cancel`,
      review: this.#hasConsole ? requestPageOf(this.#publicUrl(), request) : undefined,
    };
    return send(reply, status, writeTask(request, links));
  }

  #taskUrl({ id }: StoredRequest): string {
    return `${this.#base()}${TASKS}/${id}`;
  }

  #base(): string {
    return this.#publicUrl() + this.#context.settings.pathPrefix;
  }

  #add(
    method: "GET" | "POST",
    path: string,
    operation: string,
    errorHandler: SendError,
    handler: Handler,
  ): void {
    this.#app.route({
      method,
      url: this.#context.settings.pathPrefix + path,
      config: { operation },
      onRequest: [echoRequestId, this.#gate.admit("instance")],
      preHandler: this.#gate.charge,
      errorHandler,
      handler: (request, reply) => handler(callerOf(request, "instance"), request, reply),
    });
  }
}

/** Printable ASCII. */
const REQUEST_ID = /^[ -~]{1,200}$/;

/** The client identifies its request. The log has the identifier of the server. */
async function echoRequestId({ headers, id }: FastifyRequest, reply: FastifyReply): Promise<void> {
  const given = headers["x-request-id"];
  if (given === undefined) return;
  const isValid = typeof given === "string" && REQUEST_ID.test(given);
  reply.header("x-request-id", isValid ? given : id);
}

function failedDecision({ status, message }: Problem): WrittenDecision {
  return { decision: false, context: { error: { status, message } } };
}

function send(reply: FastifyReply, status: number, body: object): FastifyReply {
  return sendJson(reply, status, JSON.stringify(body));
}

/** Errors of evaluations are texts. */
function sendText(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { status, message } = problemOf(error, request, reply);
  const text = `${message} (request_id ${request.id})`;
  return reply.code(status).header("content-type", "text/plain; charset=utf-8").send(text);
}

/** Errors of tasks are problem documents. @see RFC 9457 */
function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = error instanceof AccessRefusal ? error : refusalOf(error);
  if (refusal !== undefined) {
    request.errorCode = refusal.type;
    const { status, message, type } = refusal;
    return sendDocument(reply, { type: refusalUri(type), status, detail: message });
  }
  const { status, message, code } = problemOf(error, request, reply);
  return sendDocument(reply, { type: "about:blank", status, detail: message, code });
}

/** The problem type of the profile for an error of an operation. */
function refusalOf(error: unknown): AccessRefusal | undefined {
  if (!(error instanceof Problem)) return undefined;
  switch (error.code) {
    case "idempotency_conflict":
      return new AccessRefusal("duplicate_request");
    case "already_terminal":
      return new AccessRefusal("invalid_task_state");
    case "not_found":
      return new AccessRefusal("unknown_task");
    default:
      return undefined;
  }
}

function problemOf(error: unknown, request: FastifyRequest, reply: FastifyReply): Problem {
  const problem = reply.server.toProblem(error, request.id);
  request.errorCode = problem.code;
  if (problem.retryAfterS !== undefined) reply.header("retry-after", problem.retryAfterS);
  if (problem.status === 401) reply.header("www-authenticate", 'Bearer realm="countersign"');
  return problem;
}

interface ProblemDocument {
  readonly type: string;
  readonly status: number;
  readonly detail: string;
  readonly code?: string;
}

function sendDocument(reply: FastifyReply, document: ProblemDocument): FastifyReply {
  return reply
    .code(document.status)
    .header("content-type", "application/problem+json")
    .serializer((body: object) => JSON.stringify(body))
    .send(document);
}
