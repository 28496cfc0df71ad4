/**
 * Holds every answer against what the contract says of all of them, and reads its resource.
 *
 * Throws `Violation`.
 *
 * @see contract: Endpoints; Errors
 */

import {
  type JsonValue,
  OPERATIONS,
  type OperationName,
  Problem,
  parseIdentifier,
  parseJsonBytes,
} from "@countersign/protocol";
import type { RequirementId } from "../contract/index.ts";
import { expect, Violation } from "../violation.ts";
import type { RawAnswer } from "./connection.ts";
import {
  type InstanceResource,
  type ProvisionedResource,
  type RequestResource,
  readInstance,
  readProvisioned,
  readRequest,
  StrictFields,
} from "./read-resources.ts";
import type { SecretList } from "./secret-list.ts";

export interface ErrorResource {
  readonly type: string;
  readonly code: string;
  readonly message: string;
  readonly param: string | undefined;
}

/** An answer that keeps the rules of all answers. */
export interface Answer {
  /** The exchange in words, for the message of a violation. */
  readonly what: string;
  readonly status: number;
  readonly text: string;
  readonly headers: ReadonlyMap<string, readonly string[]>;
  readonly request?: RequestResource;
  readonly instance?: InstanceResource;
  readonly provisioned?: ProvisionedResource;
  readonly error?: ErrorResource;
}

/** Data about all answers of a run. */
export interface Ledger {
  /** Every `X-Request-ID` so far. */
  readonly requestIds: Set<string>;
  readonly secrets: SecretList;
}

/** Deeper than any submission of the kit, since answers wrap what was submitted. */
const LIMITS = { depthMax: 5_000, numberCharsMax: 100_000 };

const RESOURCE_SHAPES: Readonly<Record<OperationName, RequirementId>> = {
  provisionInstance: "instance.provision.shape",
  getInstance: "instance.shape",
  updateInstance: "instance.shape",
  deleteInstance: "instance.delete",
  createApprovalRequest: "request.shape",
  getApprovalRequest: "request.shape",
  cancelApprovalRequest: "request.shape",
};

export function checkAnswer(
  operation: OperationName,
  raw: RawAnswer,
  ledger: Ledger,
  sent: string,
): Answer {
  const { status, headers } = raw;
  const what = `${sent} answered ${status}`;
  const requestId = checkHeaders(raw, ledger, what);
  const { success, errors } = OPERATIONS[operation];
  const listed: readonly number[] = [...success, ...errors];
  expect(listed.includes(status), "exchange.statuses", `${what}, which is not in its list`);
  const text = Buffer.from(raw.body).toString();
  if (status >= 400) {
    ledger.secrets.refuse(text, what, []);
    const error = readError(raw, requestId, what);
    return { what, status, text, headers, error };
  }
  const resource = readResource(operation, raw, what);
  const own = resource.provisioned?.token;
  ledger.secrets.refuse(text, what, own === undefined ? [] : [own]);
  if (own !== undefined) ledger.secrets.add(own);
  return { what, status, text, headers, ...resource };
}

/** Checks the headers of an answer; the scenario checks the body. @returns the `X-Request-ID` */
export function checkHeaders({ status, headers }: RawAnswer, ledger: Ledger, what: string): string {
  const rule = "exchange.request-id";
  const ids = headers.get("x-request-id") ?? [];
  const [id = ""] = ids;
  const isUuid = ids.length === 1 && parseIdentifier(id) !== undefined;
  const shown = ids.length === 1 ? JSON.stringify(id) : `there ${ids.length} times`;
  expect(isUuid, rule, `${what}: X-Request-ID is ${shown}`);
  expect(!ledger.requestIds.has(id), rule, `${what}: X-Request-ID is that of another exchange`);
  ledger.requestIds.add(id);
  if (status === 429 || status === 503) checkRetryAfter(headers.get("retry-after") ?? [], what);
  return id;
}

const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .+\d{2}:\d{2}:\d{2}/;

function checkRetryAfter(values: readonly string[], what: string): void {
  const [value] = values;
  if (value === undefined) return;
  const isDate = HTTP_DATE.test(value) && !Number.isNaN(Date.parse(value));
  const isOne = values.length === 1 && (/^\d+$/.test(value) || isDate);
  expect(isOne, "error.retry-after", `${what}: Retry-After is ${JSON.stringify(value)}`);
}

type Resource = Pick<Answer, "request" | "instance" | "provisioned">;

function readResource(operation: OperationName, raw: RawAnswer, what: string): Resource {
  if (operation === "deleteInstance") {
    expect(raw.body.length === 0, "instance.delete", `${what} with a body`);
    return {};
  }
  expect(isJson(raw), "exchange.content-type", `${what}: Content-Type is ${contentType(raw)}`);
  const body = parse(raw, RESOURCE_SHAPES[operation], what);
  if (operation === "provisionInstance") return { provisioned: readProvisioned(body, what) };
  const isInstance = operation === "getInstance" || operation === "updateInstance";
  return isInstance ? { instance: readInstance(body, what) } : { request: readRequest(body, what) };
}

const TYPES = [
  "invalid_request",
  "authentication",
  "authorization",
  "not_found",
  "conflict",
  "rate_limit",
  "dependency",
  "internal",
];

/** The status and type of each error code of the contract. */
const CODES: Readonly<Record<string, { readonly status: number; readonly type?: string }>> = {
  idempotency_conflict: { status: 409, type: "conflict" },
  already_terminal: { status: 409, type: "conflict" },
  instance_deleted: { status: 409, type: "conflict" },
  webhook_verification_failed: { status: 422, type: "invalid_request" },
  invalid_webhook_url: { status: 400 },
  unsupported_delivery_type: { status: 400 },
};

const TRACE = /\n\s+at \S|Traceback \(most recent|goroutine \d+ \[|\.(?:ts|js|py|go|rb|java):\d+/;

function readError(raw: RawAnswer, requestId: string, what: string): ErrorResource {
  const shape = "error.envelope.shape";
  expect(isJson(raw), shape, `${what}: Content-Type is ${contentType(raw)}`);
  const envelope = new StrictFields(parse(raw, shape, what), ["error"], shape, what);
  const names = ["type", "code", "message", "param", "request_id"];
  const fields = new StrictFields(envelope.object("error"), names, shape, what);
  const error = {
    type: fields.text("type", 0),
    code: fields.text("code", 0),
    message: fields.text("message", 0),
    param: fields.optional("param", (name) => fields.text(name, 0)),
  };
  const { type, code, message, param } = error;
  const isSame = fields.text("request_id", 0) === requestId;
  expect(isSame, "error.envelope.request-id", `${what}: request_id is not X-Request-ID`);
  expect(TYPES.includes(type), "error.envelope.type", `${what}: type is ${quoted(type)}`);
  const isSnake = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(code);
  expect(isSnake, "error.envelope.code", `${what}: code is ${quoted(code)}`);
  expect(message !== "", "error.envelope.message", `${what}: message is empty`);
  expect(!TRACE.test(message), "error.envelope.message", `${what}: message shows a stack trace`);
  expect(param !== "", "error.envelope.param", `${what}: param is empty`);
  const known = CODES[code];
  if (known === undefined) return error;
  const isRight = known.status === raw.status && (known.type ?? type) === type;
  expect(isRight, "error.codes", `${what}: code ${code} with type ${quoted(type)}`);
  return error;
}

function parse({ body }: RawAnswer, rule: RequirementId, what: string): JsonValue {
  try {
    return parseJsonBytes(body, LIMITS);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new Violation(rule, `${what}: ${error.message}`);
  }
}

function isJson(raw: RawAnswer): boolean {
  return /^application\/json\s*(;|$)/i.test(contentType(raw));
}

function contentType({ headers }: RawAnswer): string {
  const values = headers.get("content-type") ?? [];
  return values.join(", ") || "missing";
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 60));
}
