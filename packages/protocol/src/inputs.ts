/**
 * Parses request bodies strictly. Rejects unknown fields and nulls that are not allowed, and keeps
 * the exact spelling of every text and object.
 *
 * @see contract: Resources, CreateApprovalRequest, ProvisionInstanceRequest,
 *   UpdateInstanceRequest, WebhookDeliveryInput
 */

import { parseDuration } from "./duration.ts";
import { Fields, invalidField, quoted } from "./fields.ts";
import { parseIdentifier } from "./identifier.ts";
import { JsonObject, type JsonValue } from "./json.ts";
import { canonicalJson } from "./json-equal.ts";
import { Problem } from "./problems.ts";
import { parseSigningSecret } from "./signature.ts";
import { parseWebhookUrl, type WebhookUrl } from "./webhook-url.ts";

/** The validated input of `POST /v1/requests`. */
export interface CreateApprovalRequestInput {
  readonly tool: string;
  /** The MCP server of the tool, if that extension is enabled. */
  readonly server?: string | undefined;
  readonly arguments: JsonObject;
  /** As submitted. */
  readonly timeout: string;
  readonly timeoutMs: number;
  readonly agentReasoning: string | undefined;
  readonly context: JsonObject | undefined;
}

/** The validated input of `POST /v1/instances`. */
export interface ProvisionInstanceInput {
  /**
   * The canonical text of the whole input, for its fingerprint. Equal if and only if inputs are.
   */
  readonly canonical: string;
  readonly instanceName: string | undefined;
  readonly delivery: WebhookDeliveryInput | undefined;
}

/** The validated input of `PATCH /v1/instances/{id}`. Undefined fields stay unchanged. */
export interface UpdateInstanceInput {
  /** As in {@link ProvisionInstanceInput}. */
  readonly canonical: string;
  readonly instanceName: string | undefined;
  /** Null removes the receiver; undefined keeps the current configuration. */
  readonly delivery: WebhookDeliveryInput | null | undefined;
}

/** A well-formed proposed receiver. It is not known yet if its address is public. */
export interface WebhookDeliveryInput {
  readonly url: WebhookUrl;
  /** A UUID in the provisioner's spelling. */
  readonly registrationId: string;
  /** A well-formed secret, including `whsec_`. */
  readonly signingSecret: string;
}

/** Which receivers a provider accepts. */
export interface DeliveryRules {
  /** False: this provider is synchronous-only and rejects every delivery. */
  readonly webhooks: boolean;
  /** As in {@link WebhookUrlRules}: names of internal networks are accepted. */
  readonly internalNames: boolean;
}

const SYNCHRONOUS_ONLY: DeliveryRules = { webhooks: false, internalNames: false };

const REQUEST_NAMES = ["tool", "arguments", "timeout", "agent_reasoning", "context"];

/**
 * Validates the body of `POST /v1/requests`.
 *
 * @param extensions enabled extensions; without any, only the fields of the contract are valid
 * @throws Problem `invalid_request` with the first invalid field
 */
export function parseCreateApprovalRequest(
  body: JsonValue,
  extensions: { readonly server: boolean } = { server: false },
): CreateApprovalRequestInput {
  const names = extensions.server ? [...REQUEST_NAMES, "server"] : REQUEST_NAMES;
  const fields = new Fields(body, names);
  const tool = fields.required("tool", fields.text("tool", 1));
  const args = fields.required("arguments", fields.object("arguments"));
  const timeout = fields.required("timeout", fields.text("timeout", 1));
  const timeoutMs = parseDuration(timeout);
  if (timeoutMs === undefined) {
    const rule = "must be a whole number followed by s, m or h, like 90s";
    throw invalidField("timeout", `${rule}, not ${quoted(timeout)}`);
  }
  return {
    tool,
    server: fields.text("server", 1),
    arguments: args,
    timeout,
    timeoutMs,
    agentReasoning: fields.text("agent_reasoning", 0),
    context: fields.object("context"),
  };
}

/**
 * Validates the body of `POST /v1/instances`.
 *
 * @throws Problem `invalid_request` with the first invalid field, `unsupported_delivery_type`,
 *   `invalid_webhook_url`
 */
export function parseProvisionInstance(
  body: JsonValue,
  rules: DeliveryRules = SYNCHRONOUS_ONLY,
): ProvisionInstanceInput {
  const fields = new Fields(body, ["instance_name", "delivery"]);
  const instanceName = fields.text("instance_name", 1);
  const delivery = fields.value("delivery");
  return {
    canonical: canonicalJson(body),
    instanceName,
    delivery: delivery === undefined ? undefined : parseDelivery(delivery, rules),
  };
}

/**
 * Validates the body of `PATCH /v1/instances/{id}`.
 *
 * @throws as {@link parseProvisionInstance}
 */
export function parseUpdateInstance(
  body: JsonValue,
  rules: DeliveryRules = SYNCHRONOUS_ONLY,
): UpdateInstanceInput {
  const fields = new Fields(body, ["instance_name", "delivery"]);
  const instanceName = fields.text("instance_name", 1);
  const delivery = fields.value("delivery");
  if (instanceName === undefined && delivery === undefined) {
    const message = "The body must have instance_name or delivery.";
    throw new Problem("invalid_request", message, { param: "body" });
  }
  const replaces = delivery !== undefined && delivery !== null;
  return {
    canonical: canonicalJson(body),
    instanceName,
    delivery: replaces ? parseDelivery(delivery, rules) : delivery,
  };
}

/**
 * Checks the type first, because another transport has other fields.
 * @see contract: Resources, WebhookDeliveryInput; What the service does, 6
 */
function parseDelivery(delivery: JsonValue, rules: DeliveryRules): WebhookDeliveryInput {
  if (!(delivery instanceof JsonObject)) throw invalidField("delivery", "must be an object");
  if (!rules.webhooks) {
    const message =
      "This provider does not deliver notifications. Omit delivery and poll with wait.";
    throw new Problem("unsupported_delivery_type", message, { param: "delivery" });
  }
  const type = delivery.members.get("type");
  if (type === undefined) throw invalidField("delivery.type", "is required");
  if (typeof type !== "string") throw invalidField("delivery.type", "must be a string");
  if (type !== "webhook") {
    // Without the value: a sender may have put the signing secret in the wrong field.
    const message = "delivery.type must be webhook.";
    throw new Problem("unsupported_delivery_type", message, { param: "delivery.type" });
  }
  const names = ["type", "url", "registration_id", "signing_secret"];
  const fields = new Fields(delivery, names, "delivery");
  const url = parseUrl(fields.required("url", fields.text("url", 0)), rules);
  const registrationId = fields.required("registration_id", fields.text("registration_id", 0));
  if (parseIdentifier(registrationId) === undefined) {
    throw fields.invalid("registration_id", "must be a UUID");
  }
  const signingSecret = fields.required("signing_secret", fields.text("signing_secret", 0));
  if (parseSigningSecret(signingSecret) === undefined) {
    const rule = "must be whsec_ followed by the canonical padded base64 of exactly 32 bytes";
    throw fields.invalid("signing_secret", rule);
  }
  return { url, registrationId, signingSecret };
}

function parseUrl(text: string, rules: DeliveryRules): WebhookUrl {
  const url = parseWebhookUrl(text, rules);
  if (url !== undefined) return url;
  const message =
    "delivery.url must have the form https://<host>[:port][/path][?query] with a public host. " +
    "Use port 443, or a port from 1024 that the Fetch standard does not block.";
  throw new Problem("invalid_webhook_url", message, { param: "delivery.url" });
}
