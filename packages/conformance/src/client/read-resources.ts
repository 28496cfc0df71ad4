/**
 * The contract's resources out of exact JSON, strictly: every field that must be there, none that
 * must not, each of its type and form. Arguments and context stay the text that they were sent as.
 *
 * Throws `Violation` with the rule that is broken.
 *
 * @see contract: Resources and their fields
 */

import {
  Fields,
  JsonObject,
  type JsonValue,
  Problem,
  parseDuration,
  parseIdentifier,
  parseTimestamp,
  type RequestStatus,
} from "@countersign/protocol";
import type { RequirementId } from "../contract/index.ts";
import { expect, Violation } from "../violation.ts";

export interface DecisionResource {
  readonly status: string;
  readonly note: string | undefined;
  readonly decidedAt: string;
  readonly expiresAt: string | undefined;
}

export interface RequestResource {
  readonly id: string;
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly timeout: string;
  readonly agentReasoning: string | undefined;
  readonly context: JsonObject | undefined;
  readonly status: RequestStatus;
  readonly createdAt: string;
  readonly deadlineAt: string;
  readonly decision: DecisionResource | undefined;
}

export interface DeliveryResource {
  readonly url: string;
  readonly registrationId: string;
}

export interface InstanceResource {
  readonly id: string;
  readonly name: string;
  readonly delivery: DeliveryResource | undefined;
}

export interface ProvisionedResource {
  readonly instance: InstanceResource;
  readonly token: string;
  readonly expiresAt: string | undefined;
}

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

const STATUSES: readonly string[] = ["pending", "approved", "denied", "expired", "cancelled"];

/** @param what the exchange, for the message of a violation */
export function readRequest(body: JsonValue, what: string): RequestResource {
  const shape = "request.shape";
  const fields = open(body, REQUEST_FIELDS, shape, what);
  const status = fields.text("status", 1);
  expect(STATUSES.includes(status), shape, `${what}: status is ${JSON.stringify(status)}`);
  const request = {
    id: fields.identifier("id"),
    tool: fields.text("tool", 1),
    arguments: fields.object("arguments"),
    timeout: fields.text("timeout", 1),
    agentReasoning: fields.optional("agent_reasoning", (name) => fields.text(name, 0)),
    context: fields.optional("context", (name) => fields.object(name)),
    status: status as RequestStatus,
    createdAt: fields.timestamp("created_at"),
    deadlineAt: fields.timestamp("deadline_at"),
    decision: fields.optional("decision", (name) => readDecision(fields.object(name), what)),
  };
  checkRequest(request, what);
  return request;
}

function checkRequest(request: RequestResource, what: string): void {
  const { timeout, status, decision, createdAt, deadlineAt } = request;
  const isDuration = parseDuration(timeout) !== undefined;
  expect(isDuration, "request.shape", `${what}: timeout is not a duration`);
  expect(
    isLater(deadlineAt, createdAt),
    "request.deadline.window",
    `${what}: deadline_at ${deadlineAt} is not later than created_at ${createdAt}`,
  );
  const isPending = status === "pending";
  expect(
    decision?.status === (isPending ? undefined : status),
    isPending ? "request.decision.absent-while-pending" : "request.decision.matches-status",
    `${what}: the status is ${status}, that of the decision ${decision?.status ?? "absent"}`,
  );
}

function readDecision(object: JsonObject, what: string): DecisionResource {
  const shape = "decision.shape";
  const fields = open(object, ["status", "note", "decided_at", "expires_at"], shape, what);
  const status = fields.text("status", 1);
  const isTerminal = status !== "pending" && STATUSES.includes(status);
  expect(isTerminal, shape, `${what}: decision.status is ${JSON.stringify(status)}`);
  const decidedAt = fields.timestamp("decided_at");
  const expiresAt = fields.optional("expires_at", (name) => fields.timestamp(name));
  const shown = `${what}: ${status} at ${decidedAt}, expires_at ${expiresAt ?? "absent"}`;
  if (status === "approved") {
    const isValid = expiresAt !== undefined && isLater(expiresAt, decidedAt);
    expect(isValid, "decision.expiry.approved", shown);
  } else {
    expect(expiresAt === undefined, "decision.expiry.absent-otherwise", shown);
  }
  const note = fields.optional("note", (name) => fields.text(name, 0));
  return { status, note, decidedAt, expiresAt };
}

/** As {@link readRequest}. */
export function readInstance(body: JsonValue, what: string): InstanceResource {
  const fields = open(body, ["id", "name", "delivery"], "instance.shape", what);
  return {
    id: fields.identifier("id"),
    name: fields.text("name", 1),
    delivery: fields.optional("delivery", (name) => readDelivery(fields.object(name), what)),
  };
}

function readDelivery(object: JsonObject, what: string): DeliveryResource {
  const shape = "delivery.shape";
  const fields = open(object, ["type", "url", "registration_id"], shape, what);
  expect(fields.text("type", 1) === "webhook", shape, `${what}: delivery.type is not "webhook"`);
  return { url: fields.text("url", 1), registrationId: fields.identifier("registration_id") };
}

/** As {@link readRequest}. */
export function readProvisioned(body: JsonValue, what: string): ProvisionedResource {
  const shape = "instance.provision.shape";
  const fields = open(body, ["instance", "credential"], shape, what);
  const instance = readInstance(fields.object("instance"), what);
  const names = ["token", "expires_at"];
  const issued = fields.object("credential");
  const credential = open(issued, names, "credential.shape", what);
  return {
    instance,
    token: credential.text("token", 1),
    expiresAt: credential.optional("expires_at", (name) => credential.timestamp(name)),
  };
}

/** The fields of one object, whose absence or form is a violation of one rule. */
export class StrictFields {
  readonly #fields: Fields;
  readonly #rule: RequirementId;
  readonly #what: string;

  /** @throws Violation when it is not an object, or has unknown members */
  constructor(body: JsonValue, names: readonly string[], rule: RequirementId, what: string) {
    this.#rule = rule;
    this.#what = what;
    this.#fields = this.#judged(() => new Fields(body, names));
  }

  text(name: string, lengthMin: number): string {
    return this.#judged(() => this.#fields.required(name, this.#fields.text(name, lengthMin)));
  }

  object(name: string): JsonObject {
    return this.#judged(() => this.#fields.required(name, this.#fields.object(name)));
  }

  identifier(name: string): string {
    const value = this.text(name, 0);
    const isUuid = parseIdentifier(value) !== undefined;
    expect(isUuid, "scalar.identifier.format", `${this.#what}: ${name} is not a UUID`);
    return value;
  }

  timestamp(name: string): string {
    const value = this.text(name, 0);
    const isTimestamp = parseTimestamp(value) !== undefined;
    const shown = JSON.stringify(value.slice(0, 40));
    expect(isTimestamp, "scalar.timestamp.format", `${this.#what}: ${name} is ${shown}`);
    return value;
  }

  /** Undefined when the member is not there; null is a value, and a wrong one. */
  optional<T>(name: string, read: (name: string) => T): T | undefined {
    return this.#fields.value(name) === undefined ? undefined : read(name);
  }

  #judged<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const { message, param } = error;
      throw new Violation(this.#rule, `${this.#what}: ${message} (${param})`);
    }
  }
}

function open(
  body: JsonValue,
  names: readonly string[],
  rule: RequirementId,
  what: string,
): StrictFields {
  refuseWrapper(body, names, what);
  return new StrictFields(body, names, rule, what);
}

/** A wrapper holds none of the fields, and one object: what should have come without it. */
function refuseWrapper(body: JsonValue, names: readonly string[], what: string): void {
  if (!(body instanceof JsonObject) || body.members.size === 0) return;
  if (names.some((name) => body.members.has(name))) return;
  const isWrapper = [...body.members.values()].some((value) => value instanceof JsonObject);
  if (!isWrapper) return;
  const wrappers = [...body.members.keys()].join(", ");
  throw new Violation("service.response.unwrapped", `${what}: the resource is within ${wrappers}`);
}

/** By what is finer than a millisecond as well. */
export function isLater(one: string, other: string): boolean {
  const [a = 0, b = 0] = [parseTimestamp(one), parseTimestamp(other)];
  return a === b ? fraction(one) > fraction(other) : a > b;
}

function fraction(timestamp: string): string {
  return (/\.(\d+)Z$/.exec(timestamp)?.[1] ?? "").replace(/0+$/, "");
}
