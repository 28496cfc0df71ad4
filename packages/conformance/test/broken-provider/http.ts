/**
 * An exchange: who calls, what for, and what is answered.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { errorResponse, type OperationName, Problem } from "@countersign/protocol";
import type { Ledger } from "./conduct.ts";
import type { About, Answer } from "./conduct-exchange.ts";
import { deleteInstance, provisionInstance, readInstance, updateInstance } from "./instances.ts";
import type { Caller, StoredInstance } from "./ledger.ts";
import { cancelRequest, createRequest, type Done, readRequest } from "./requests.ts";

const BODY_BYTES_MAX = 1 << 20;

const OPERATION_OF: Readonly<Record<string, OperationName>> = {
  "POST /v1/instances": "provisionInstance",
  "GET /v1/instances/": "getInstance",
  "PATCH /v1/instances/": "updateInstance",
  "DELETE /v1/instances/": "deleteInstance",
  "POST /v1/requests": "createApprovalRequest",
  "GET /v1/requests/": "getApprovalRequest",
  "DELETE /v1/requests/": "cancelApprovalRequest",
};

interface Incoming {
  readonly operation: OperationName | undefined;
  readonly id: string;
  readonly query: URLSearchParams;
  readonly token: string | undefined;
  readonly body: Buffer;
  readonly request: IncomingMessage;
  readonly gone: AbortSignal;
}

export async function answerExchange(
  ledger: Ledger,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  const body = await read(request);
  const incoming = readIncoming(ledger, request, body, gone.signal);
  const requestId = ledger.conduct.requestId();
  const { answer, isReplay, problem } = await operate(ledger, incoming, requestId);
  const { operation, token, id } = incoming;
  const about: About = { operation, requestId, isReplay, problem, token, id, sent: `${body}` };
  const sent = ledger.conduct.answer(answer, about);
  response.writeHead(sent.status, { ...sent.headers });
  response.end(sent.body);
}

async function read(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function readIncoming(
  ledger: Ledger,
  request: IncomingMessage,
  body: Buffer,
  gone: AbortSignal,
): Incoming {
  const [target = "", search = ""] = (request.url ?? "").split(/\?(.*)/s);
  const path = ledger.conduct.path(target);
  const [, collection = "", id = ""] = /^(\/v1\/(?:instances|requests)\/)([^/]+)$/.exec(path) ?? [];
  const operation = OPERATION_OF[`${request.method} ${collection || path}`];
  const query = new URLSearchParams(search);
  const token = ledger.conduct.token(request.headers, query);
  return { operation, id, query, token, body, request, gone };
}

interface Operated {
  readonly answer: Answer;
  readonly isReplay: boolean;
  readonly problem: Problem | undefined;
}

async function operate(ledger: Ledger, incoming: Incoming, requestId: string): Promise<Operated> {
  const headers = { "x-request-id": requestId };
  const json = { ...headers, "content-type": "application/json" };
  try {
    const { status, text, isReplay } = await dispatch(ledger, incoming);
    const answer = { status, headers: text === undefined ? headers : json, body: text };
    return { answer, isReplay, problem: undefined };
  } catch (error) {
    // A bug of this provider is to be seen in the run that it spoils.
    if (!(error instanceof Problem)) console.error(error);
    const problem = error instanceof Problem ? error : new Problem("internal");
    const body = JSON.stringify(errorResponse(problem, requestId));
    return { answer: { status: problem.status, headers: json, body }, isReplay: false, problem };
  }
}

async function dispatch(ledger: Ledger, incoming: Incoming): Promise<Done> {
  const { conduct } = ledger;
  const { operation, id, query, gone } = incoming;
  if (operation === undefined) throw new Problem("not_found");
  const caller = authenticate(ledger, incoming.token);
  if (!conduct.permits(caller, operation)) throw new Problem("wrong_credential_kind");
  const key = conduct.key(operation, incoming.request.headers);
  const waitMs = operation === "getApprovalRequest" ? conduct.readWait(query.get("wait")) : 0;
  switch (operation) {
    case "provisionInstance":
      return provisionInstance(ledger, caller, key, readBody(ledger, incoming));
    case "getInstance":
      return readInstance(ledger, caller, id);
    case "updateInstance":
      return updateInstance(ledger, caller, id, key, readBody(ledger, incoming));
    case "deleteInstance":
      return deleteInstance(ledger, caller, id);
    case "createApprovalRequest":
      return createRequest(ledger, agentOf(ledger, caller), key, readBody(ledger, incoming));
    case "getApprovalRequest":
      return readRequest(ledger, agentOf(ledger, caller), id, waitMs, gone);
    case "cancelApprovalRequest":
      return cancelRequest(ledger, agentOf(ledger, caller), id);
  }
}

function authenticate(ledger: Ledger, token: string | undefined): Caller {
  if (token === undefined) throw new Problem("invalid_credential");
  const provisioner = ledger.provisioners.find((each) => each.token === token);
  if (provisioner !== undefined) return { kind: "provisioner", provisioner };
  for (const instance of ledger.instances.values()) {
    if (instance.token !== token) continue;
    if (!ledger.conduct.isValidCredential(instance, Date.now())) break;
    return { kind: "instance", instance };
  }
  throw new Problem("invalid_credential");
}

/** If a fault accepts another kind of credential, the caller acts as the first instance. */
function agentOf(ledger: Ledger, caller: Caller): StoredInstance {
  if (caller.kind === "instance") return caller.instance;
  const [instance] = ledger.instances.values();
  if (instance === undefined) throw new Problem("not_found");
  return instance;
}

function readBody({ conduct }: Ledger, { request, body }: Incoming) {
  if (!conduct.isJson(request.headers["content-type"])) {
    throw new Problem("invalid_request", "The body must be application/json.", { param: "body" });
  }
  if (body.length > BODY_BYTES_MAX) {
    throw new Problem("body_too_large", "The body is too large.", { param: "body" });
  }
  return conduct.readJson(body);
}
