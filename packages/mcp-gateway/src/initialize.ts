/**
 * The initialization of a session: what servers receive in the client's place, and what the client
 * receives about all of them.
 */

import { type JsonObject, parseJson } from "@countersign/protocol";
import {
  LATEST_PROTOCOL_VERSION,
  SUPPORTED_PROTOCOL_VERSIONS,
} from "@modelcontextprotocol/sdk/types.js";
import {
  type Exact,
  exact,
  objectIn,
  type Reply,
  resultOf,
  textIn,
  withMembers,
} from "./exact-message.ts";
import { MODERN_VERSION } from "./modern-messages.ts";
import { VERSION } from "./version.ts";

/** The capabilities that a gateway in front of several servers can relay. */
const CAPABILITIES = ["tools", "resources", "prompts", "completions", "logging"];

/** The only version with tasks in the core protocol. */
export const TASKS_VERSION = "2025-11-25";

const TASKS = exact({ cancel: {}, requests: { tools: { call: {} } } }).source;

/** The version between the client and the gateway; that of a server may differ. */
export function clientVersion(params: JsonObject | undefined): string {
  const requested = textIn(params, "protocolVersion") ?? "";
  return SUPPORTED_PROTOCOL_VERSIONS.includes(requested) ? requested : LATEST_PROTOCOL_VERSION;
}

/** The client's parameters, in a version that the gateway knows. */
export function initializeParams(params: JsonObject | undefined): Exact {
  return withMembers(params, { protocolVersion: JSON.stringify(clientVersion(params)) });
}

/** Whether a server answered in a version that the gateway knows. */
export function isKnownVersion(opening: JsonObject): boolean {
  const version = textIn(opening, "protocolVersion") ?? "";
  return version === MODERN_VERSION || SUPPORTED_PROTOCOL_VERSIONS.includes(version);
}

/**
 * @param isOnly whether there is one server: the client receives its answer with other versions
 * @param openings by name of the server
 * @param versions of MCP and of the gateway
 */
export function initializeResult(
  isOnly: boolean,
  openings: ReadonlyMap<string, JsonObject>,
  versions: { readonly version: string; readonly gateway: string },
): Reply {
  const protocolVersion = JSON.stringify(versions.version);
  const tasks = versions.version === TASKS_VERSION ? TASKS : undefined;
  const [only] = openings.values();
  if (isOnly && only !== undefined) {
    const capabilities = objectIn(only, "capabilities");
    const own = withMembers(capabilities, {
      tasks: capabilities?.members.has("tools") ? tasks : undefined,
    });
    return resultOf(withMembers(only, { protocolVersion, capabilities: own.source }));
  }
  const merged = mergedCapabilities([...openings.values()]);
  const capabilities = withMembers(undefined, {
    ...merged,
    tasks: "tools" in merged ? tasks : undefined,
  });
  const instructions = [...openings]
    .map(([name, opening]) => [name, textIn(opening, "instructions")])
    .filter(([, text]) => text !== undefined)
    .map(([name, text]) => `${name}: ${text}`);
  return resultOf(
    withMembers(undefined, {
      protocolVersion,
      capabilities: capabilities.source,
      serverInfo: exact({ name: "countersign-mcp-gateway", version: versions.gateway }).source,
      instructions: instructions.length > 0 ? JSON.stringify(instructions.join("\n\n")) : undefined,
    }),
  );
}

function mergedCapabilities(openings: readonly JsonObject[]): Record<string, string> {
  const merged: Record<string, string> = {};
  for (const name of CAPABILITIES) {
    const having = openings
      .map((opening) => objectIn(objectIn(opening, "capabilities"), name))
      .filter((capability) => capability !== undefined);
    if (having.length === 0) continue;
    const members = having.flatMap(({ members }) => [...members]);
    const flags = members.filter(([, value]) => value === true).map(([key]) => [key, "true"]);
    merged[name] = withMembers(undefined, Object.fromEntries(flags)).source;
  }
  return merged;
}

/** Parameters for the check of a config, which has no client. */
export const CHECK_INITIALIZE_PARAMS = parseJson(
  JSON.stringify({
    protocolVersion: LATEST_PROTOCOL_VERSION,
    capabilities: {},
    clientInfo: { name: "countersign-mcp-gateway", version: VERSION },
  }),
) as JsonObject;
