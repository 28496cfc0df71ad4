/**
 * The bodies that callers send, read strictly: no unknown field, no null where none is allowed,
 * every text and object kept exactly as it was spelled.
 *
 * @see contract: Resources, CreateApprovalRequest, ProvisionInstanceRequest,
 *   UpdateInstanceRequest
 */

import { parseDuration } from "./duration.ts";
import { JsonObject, type JsonValue } from "./json.ts";
import { Problem } from "./problems.ts";

export interface CreateApprovalRequestInput {
  readonly tool: string;
  readonly arguments: JsonObject;
  /** As submitted. */
  readonly timeout: string;
  readonly timeoutMs: number;
  readonly agentReasoning: string | undefined;
  readonly context: JsonObject | undefined;
}

export interface ProvisionInstanceInput {
  readonly instanceName: string | undefined;
}

export interface UpdateInstanceInput {
  readonly instanceName: string | undefined;
  /** Null removes the receiver; undefined keeps the current configuration. */
  readonly delivery: null | undefined;
}

/** @throws Problem `invalid_request` naming the first wrong field */
export function parseCreateApprovalRequest(body: JsonValue): CreateApprovalRequestInput {
  const fields = new Fields(body, ["tool", "arguments", "timeout", "agent_reasoning", "context"]);
  const tool = fields.required("tool", fields.text("tool", 1));
  const args = fields.required("arguments", fields.object("arguments"));
  const timeout = fields.required("timeout", fields.text("timeout", 1));
  const timeoutMs = parseDuration(timeout);
  if (timeoutMs === undefined) {
    throw invalid("timeout", "must be a whole number followed by s, m or h, like 90s");
  }
  return {
    tool,
    arguments: args,
    timeout,
    timeoutMs,
    agentReasoning: fields.text("agent_reasoning", 0),
    context: fields.object("context"),
  };
}

/**
 * @throws Problem `invalid_request`, or `unsupported_delivery_type` when a delivery is asked for
 */
export function parseProvisionInstance(body: JsonValue): ProvisionInstanceInput {
  const fields = new Fields(body, ["instance_name", "delivery"]);
  const instanceName = fields.text("instance_name", 1);
  if (fields.value("delivery") !== undefined) refuseDelivery(fields.value("delivery"));
  return { instanceName };
}

/** @throws as {@link parseProvisionInstance} */
export function parseUpdateInstance(body: JsonValue): UpdateInstanceInput {
  const fields = new Fields(body, ["instance_name", "delivery"]);
  const instanceName = fields.text("instance_name", 1);
  const delivery = fields.value("delivery");
  if (instanceName === undefined && delivery === undefined) {
    const message = "At least one of instance_name and delivery must be given.";
    throw new Problem("invalid_request", message, { param: "body" });
  }
  if (delivery !== undefined && delivery !== null) refuseDelivery(delivery);
  return { instanceName, delivery: delivery === null ? null : undefined };
}

/**
 * This provider is synchronous-only for now, so every delivery that is an object is refused.
 * @see contract: What the service does, 6
 */
function refuseDelivery(delivery: JsonValue | undefined): never {
  if (!(delivery instanceof JsonObject)) throw invalid("delivery", "must be an object");
  const message = "This provider does not deliver notifications; poll with wait instead.";
  throw new Problem("unsupported_delivery_type", message, { param: "delivery" });
}

/** The members of a body, with the checks that every body needs. */
class Fields {
  readonly #members: ReadonlyMap<string, JsonValue>;

  constructor(body: JsonValue, names: readonly string[]) {
    if (!(body instanceof JsonObject)) throw invalid("body", "must be a JSON object");
    for (const name of body.members.keys()) {
      if (!names.includes(name)) {
        throw new Problem("invalid_request", "The body has an unknown field.", {
          param: name === "" ? "body" : name.slice(0, 200),
        });
      }
    }
    this.#members = body.members;
  }

  value(name: string): JsonValue | undefined {
    return this.#members.get(name);
  }

  required<T>(name: string, value: T | undefined): T {
    if (value === undefined) throw invalid(name, "is required");
    return value;
  }

  text(name: string, lengthMin: number): string | undefined {
    const value = this.#members.get(name);
    if (value === undefined) return undefined;
    if (typeof value !== "string") throw invalid(name, "must be a string");
    if (value.length < lengthMin) throw invalid(name, "must not be empty");
    return value;
  }

  object(name: string): JsonObject | undefined {
    const value = this.#members.get(name);
    if (value === undefined) return undefined;
    if (!(value instanceof JsonObject)) throw invalid(name, "must be a JSON object");
    return value;
  }
}

function invalid(param: string, rule: string): Problem {
  return new Problem("invalid_request", `${param} ${rule}.`, { param });
}
