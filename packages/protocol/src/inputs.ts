/**
 * The bodies that callers send, read strictly: no unknown field, no null where none is allowed,
 * every text and object kept exactly as it was spelled.
 *
 * @see contract: Resources, CreateApprovalRequest, ProvisionInstanceRequest,
 *   UpdateInstanceRequest
 */

import { parseDuration } from "./duration.ts";
import { Fields, invalidField } from "./fields.ts";
import { JsonObject, type JsonValue } from "./json.ts";
import { canonicalJson } from "./json-equal.ts";
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
  /** The whole input in one spelling: equal exactly when the input is. For its fingerprint. */
  readonly canonical: string;
  readonly instanceName: string | undefined;
}

export interface UpdateInstanceInput {
  /** As in {@link ProvisionInstanceInput}. */
  readonly canonical: string;
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
    throw invalidField("timeout", "must be a whole number followed by s, m or h, like 90s");
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
  return { canonical: canonicalJson(body), instanceName };
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
  return {
    canonical: canonicalJson(body),
    instanceName,
    delivery: delivery === null ? null : undefined,
  };
}

/**
 * This provider is synchronous-only for now, so every delivery that is an object is refused.
 * @see contract: What the service does, 6
 */
function refuseDelivery(delivery: JsonValue | undefined): never {
  if (!(delivery instanceof JsonObject)) throw invalidField("delivery", "must be an object");
  const message = "This provider does not deliver notifications; poll with wait instead.";
  throw new Problem("unsupported_delivery_type", message, { param: "delivery" });
}
