/**
 * Answers of a provider, read as strictly as the provider reads us: every field there, none
 * unknown, none null, times that can be true, and the request that was asked about.
 *
 * Promises: what it lets through can be acted on.
 *
 * @see contract: Resources, ApprovalRequest and Decision
 */

import {
  equalJson,
  Fields,
  type JsonObject,
  type JsonValue,
  Problem,
  parseDuration,
  parseIdentifier,
  parseTimestamp,
  type RequestStatus,
  type TerminalStatus,
} from "@countersign/protocol";
import { invalidAnswer } from "./connection.ts";

export interface Decision {
  readonly status: TerminalStatus;
  readonly note: string | undefined;
  /** Epoch ms. */
  readonly decidedAt: number;
  /** Epoch ms; present exactly when approved. No call starts then or later. */
  readonly expiresAt: number | undefined;
}

export interface ApprovalRequest {
  readonly id: string;
  readonly tool: string;
  /** Exact: numbers as they were spelled. */
  readonly arguments: JsonObject;
  readonly timeout: string;
  readonly agentReasoning: string | undefined;
  readonly context: JsonObject | undefined;
  readonly status: RequestStatus;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Epoch ms. */
  readonly deadlineAt: number;
  /** Present exactly when the status is not `pending`. */
  readonly decision: Decision | undefined;
}

/** What was submitted: an answer holds it unchanged. */
export type Submission = Pick<
  ApprovalRequest,
  "tool" | "arguments" | "timeout" | "agentReasoning" | "context"
>;

const REQUEST_FIELDS = [
  "id",
  "tool",
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
    const fields = new Fields(body ?? null, REQUEST_FIELDS);
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
  // At the deadline an undecided request expires.
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
 * The answer is about what was submitted, and nothing else.
 *
 * @throws SdkError `invalid_answer`
 */
export function assertHolds(request: ApprovalRequest, submitted: Submission): void {
  if (request.tool !== submitted.tool) throw invalidAnswer("tool is not what was submitted");
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
 * The answer continues what was answered before: the same request, never back from its end.
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

/** Runs a reading; what it refuses makes the whole answer unbelievable. */
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

/** Lower case, whatever case it came in. */
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
