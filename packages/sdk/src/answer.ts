/**
 * Parses a provider's answers strictly. It rejects missing and null fields, unknown fields of a
 * decision, impossible timestamps, and answers about another request.
 *
 * Promises: a program can act on an accepted answer.
 *
 * @see contract: Resources, ApprovalRequest and Decision
 */

import {
  equalJson,
  Fields,
  JsonObject,
  type JsonValue,
  Problem,
  parseDuration,
  parseIdentifier,
  parseTimestamp,
  type RequestStatus,
  type TerminalStatus,
} from "@countersign/protocol";
import { invalidAnswer } from "./connection.ts";

/** The decision of a resolved approval request. */
export interface Decision {
  /** The outcome: `approved`, `denied`, `expired` or `cancelled`. */
  readonly status: TerminalStatus;
  /** Note of the reviewer or the provider. */
  readonly note: string | undefined;
  /** Epoch ms. */
  readonly decidedAt: number;
  /** Expiry of an approval, epoch ms; undefined otherwise. No call starts at or after this time. */
  readonly expiresAt: number | undefined;
}

/** An approval request, as the provider returned it. */
export interface ApprovalRequest {
  /** UUID in lower case. */
  readonly id: string;
  /** Name of the tool. */
  readonly tool: string;
  /** The MCP server of the tool; undefined for other tools. */
  readonly server?: string | undefined;
  /** The exact JSON, with the original spelling of numbers. */
  readonly arguments: JsonObject;
  /** Time that reviewers have to decide, such as `10m`. */
  readonly timeout: string;
  /** The agent's own explanation. */
  readonly agentReasoning: string | undefined;
  /** Facts about the runtime from the adapter. */
  readonly context: JsonObject | undefined;
  /** `pending`, or the outcome. */
  readonly status: RequestStatus;
  /** Epoch ms. */
  readonly createdAt: number;
  /** End of the decision window, epoch ms. */
  readonly deadlineAt: number;
  /** Undefined if and only if the status is `pending`. */
  readonly decision: Decision | undefined;
}

/** The submitted fields. Every answer must contain them unchanged. */
export type Submission = Pick<
  ApprovalRequest,
  "tool" | "server" | "arguments" | "timeout" | "agentReasoning" | "context"
>;

const REQUEST_FIELDS = [
  "id",
  "tool",
  "server",
  "arguments",
  "timeout",
  "agent_reasoning",
  "context",
  "status",
  "created_at",
  "deadline_at",
  "decision",
];
const DECISION_FIELDS = ["status", "note", "decided_at", "expires_at"];
const TERMINAL: readonly string[] = ["approved", "denied", "expired", "cancelled"];

/** @throws SdkError `invalid_answer` */
export function readRequest(body: JsonValue | undefined): ApprovalRequest {
  return readAnswerPart(() => {
    const fields = new Fields(knownMembers(body), REQUEST_FIELDS);
    const status = fields.required("status", fields.text("status", 1));
    if (status !== "pending" && !isTerminal(status)) throw fields.invalid("status", "is unknown");
    const timeout = fields.required("timeout", fields.text("timeout", 1));
    if (parseDuration(timeout) === undefined) throw fields.invalid("timeout", "is not a duration");
    const createdAt = timestamp(fields, "created_at");
    const deadlineAt = timestamp(fields, "deadline_at");
    if (deadlineAt < createdAt) throw fields.invalid("deadline_at", "is before created_at");
    const decision = readDecision(fields, status, { createdAt, deadlineAt });
    return Object.freeze({
      id: identifier(fields, "id"),
      tool: fields.required("tool", fields.text("tool", 1)),
      server: fields.text("server", 1),
      arguments: fields.required("arguments", fields.object("arguments")),
      timeout,
      agentReasoning: fields.text("agent_reasoning", 0),
      context: fields.object("context"),
      status,
      createdAt,
      deadlineAt,
      decision,
    });
  });
}

/**
 * Unknown members of the request are ignored, so that a provider can add some. An unknown member of
 * the decision makes the answer invalid, because it may restrict the decision.
 */
function knownMembers(body: JsonValue | undefined): JsonValue {
  if (!(body instanceof JsonObject)) return body ?? null;
  const members = [...body.members].filter(([name]) => REQUEST_FIELDS.includes(name));
  return new JsonObject(new Map(members), body.source);
}

function readDecision(
  request: Fields,
  status: RequestStatus,
  { createdAt, deadlineAt }: { readonly createdAt: number; readonly deadlineAt: number },
): Decision | undefined {
  const object = request.object("decision");
  if (status === "pending") {
    if (object !== undefined)
      throw request.invalid("decision", "must be absent while the status is pending");
    return undefined;
  }
  const fields = new Fields(request.required("decision", object), DECISION_FIELDS, "decision");
  if (fields.required("status", fields.text("status", 1)) !== status) {
    throw fields.invalid("status", "is not the request's status");
  }
  const decidedAt = timestamp(fields, "decided_at");
  if (decidedAt < createdAt) throw fields.invalid("decided_at", "is before created_at");
  const isApproved = status === "approved";
  // An undecided request expires at the deadline.
  if (isApproved && decidedAt > deadlineAt) {
    throw fields.invalid("decided_at", "is after deadline_at in an approval");
  }
  if (!isApproved && fields.value("expires_at") !== undefined) {
    throw fields.invalid("expires_at", "must be absent unless the status is approved");
  }
  const expiresAt = isApproved ? timestamp(fields, "expires_at") : undefined;
  if (expiresAt !== undefined && expiresAt <= decidedAt) {
    throw fields.invalid("expires_at", "is not after decided_at");
  }
  return Object.freeze({ status, note: fields.text("note", 0), decidedAt, expiresAt });
}

/**
 * Checks that the answer contains exactly the submitted fields.
 *
 * @throws SdkError `invalid_answer`
 */
export function assertHolds(request: ApprovalRequest, submitted: Submission): void {
  if (request.tool !== submitted.tool) throw invalidAnswer("tool is not what was submitted");
  if (request.server !== submitted.server) throw invalidAnswer("server is not what was submitted");
  if (!equalJson(request.arguments, submitted.arguments)) {
    throw invalidAnswer("arguments are not what was submitted");
  }
  if (request.timeout !== submitted.timeout) {
    throw invalidAnswer("timeout is not what was submitted");
  }
  if (request.agentReasoning !== submitted.agentReasoning) {
    throw invalidAnswer("agent_reasoning is not what was submitted");
  }
  if (!equalJson(request.context ?? null, submitted.context ?? null)) {
    throw invalidAnswer("context is not what was submitted");
  }
}

/**
 * Checks that the answer is about the same request and that a decision has not changed.
 *
 * @throws SdkError `invalid_answer`
 */
export function assertContinues(request: ApprovalRequest, before: ApprovalRequest): void {
  if (request.id !== before.id) throw invalidAnswer("id is that of another request");
  assertHolds(request, before);
  if (request.createdAt !== before.createdAt) throw invalidAnswer("created_at has changed");
  if (request.deadlineAt !== before.deadlineAt) throw invalidAnswer("deadline_at has changed");
  const { decision } = before;
  if (decision === undefined) return;
  const names = ["status", "note", "decidedAt", "expiresAt"] as const;
  if (names.some((name) => request.decision?.[name] !== decision[name])) {
    throw invalidAnswer("a decision that was final has changed");
  }
}

/** Runs a parser. Its Problem makes the whole answer invalid. */
export function readAnswerPart<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof Problem) {
      throw invalidAnswer(error.message, { param: error.param, cause: error });
    }
    throw error;
  }
}

/** @returns the UUID in lower case */
export function identifier(fields: Fields, name: string): string {
  const id = parseIdentifier(fields.required(name, fields.text(name, 1)));
  if (id === undefined) throw fields.invalid(name, "is not a UUID");
  return id;
}

/** Epoch ms. */
export function timestamp(fields: Fields, name: string): number {
  const at = parseTimestamp(fields.required(name, fields.text(name, 1)));
  if (at === undefined) throw fields.invalid(name, "is not an RFC 3339 time in UTC");
  return at;
}

function isTerminal(status: string): status is TerminalStatus {
  return TERMINAL.includes(status);
}
