/**
 * Messages of MCP 2026-07-28, which has no sessions: each request names its version, its client
 * and the client's capabilities.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning
 */

import { type JsonObject, parseJson } from "@countersign/protocol";
import { SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/sdk/types.js";
import {
  CODE,
  type Exact,
  exact,
  objectIn,
  type Reply,
  resultOf,
  sourceOf,
  textIn,
  withMembers,
} from "./exact-message.ts";
import type { IncomingRequest } from "./peer.ts";

export const MODERN_VERSION = "2026-07-28";

export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

export const SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId";

/** The members of `_meta` that a request or a result must have. */
export const ENVELOPE = {
  version: "io.modelcontextprotocol/protocolVersion",
  client: "io.modelcontextprotocol/clientInfo",
  capabilities: "io.modelcontextprotocol/clientCapabilities",
  logLevel: "io.modelcontextprotocol/logLevel",
  server: "io.modelcontextprotocol/serverInfo",
} as const;

/** By method: the member of its params that the header `Mcp-Name` repeats. */
export const NAME_MEMBER: Readonly<Record<string, "name" | "uri">> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
};

const UNSUPPORTED_VERSION = -32022;
const MISSING_CAPABILITY = -32021;

/** Their results say how long a client may cache them. */
const CACHEABLE =
  /^(server\/discover|(tools|prompts|resources|resources\/templates)\/list|resources\/read)$/;

export interface Envelope {
  readonly version: string;
  readonly client: JsonObject | undefined;
  readonly capabilities: JsonObject | undefined;
}

/** @returns undefined for a request of an earlier version */
export function envelopeOf(params: JsonObject | undefined): Envelope | undefined {
  const meta = objectIn(params, "_meta");
  const version = textIn(meta, ENVELOPE.version);
  if (version === undefined) return undefined;
  return {
    version,
    client: objectIn(meta, ENVELOPE.client),
    capabilities: objectIn(meta, ENVELOPE.capabilities),
  };
}

/** Whether the client accepts a task as the result of this request. */
export function acceptsTasks({ capabilities }: Envelope): boolean {
  return objectIn(capabilities, "extensions")?.members.has(TASKS_EXTENSION) === true;
}

/** The request without the members that only this version has. */
export function withoutEnvelope(request: IncomingRequest): IncomingRequest {
  const { params } = request;
  const changes: Record<string, undefined> = {};
  for (const key of [ENVELOPE.version, ENVELOPE.client, ENVELOPE.capabilities, ENVELOPE.logLevel]) {
    changes[key] = undefined;
  }
  const meta = withMembers(objectIn(params, "_meta"), changes).source;
  const rest = withMembers(params, { _meta: meta === "{}" ? undefined : meta });
  const own = parseJson(rest.source) as JsonObject;
  return { ...request, params: own };
}

/** The reply of a server with an earlier version, with the members that this version requires. */
export function modernReply(method: string, reply: Reply, server: Exact): Reply {
  const value = parseJson(reply.value.source) as JsonObject;
  if (reply.outcome === "error") {
    const code = value.members.get("code");
    if (code === undefined || Number(sourceOf(code)) !== CODE.resourceNotFound) return reply;
    const invalid = String(CODE.invalidParams);
    return { outcome: "error", value: withMembers(value, { code: invalid }) };
  }
  const changes: Record<string, string> = {};
  if (textIn(value, "resultType") === undefined) changes["resultType"] = '"complete"';
  if (CACHEABLE.test(method)) {
    changes["ttlMs"] = "0";
    changes["cacheScope"] = '"private"';
  }
  changes["_meta"] = withMembers(objectIn(value, "_meta"), {
    [ENVELOPE.server]: server.source,
  }).source;
  return resultOf(withMembers(value, changes));
}

export function unsupportedVersion(requested: string): Reply {
  const supported = [MODERN_VERSION, ...SUPPORTED_PROTOCOL_VERSIONS];
  const message = `The gateway does not support MCP ${requested.slice(0, 40)}.`;
  const data = { supported, requested };
  return { outcome: "error", value: exact({ code: UNSUPPORTED_VERSION, message, data }) };
}

export function missingTasks(): Reply {
  const message = "The request does not declare the tasks extension.";
  const data = { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } };
  return { outcome: "error", value: exact({ code: MISSING_CAPABILITY, message, data }) };
}
