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
import { VERSION } from "./version.ts";

/** The capabilities that a gateway in front of several servers can relay. */
const CAPABILITIES = ["tools", "resources", "prompts", "completions", "logging"];

/**
 * The client's own words, in a version that the gateway knows: in another one there might be ways
 * to run a tool that it does not ask about.
 */
export function initializeParams(params: JsonObject | undefined): Exact {
  const requestedVersion = textIn(params, "protocolVersion") ?? "";
  const isKnown = SUPPORTED_PROTOCOL_VERSIONS.includes(requestedVersion);
  return withMembers(params, {
    protocolVersion: JSON.stringify(isKnown ? requestedVersion : LATEST_PROTOCOL_VERSION),
  });
}

/** Whether a server answered in a version that the gateway knows. */
export function isKnownVersion(opening: JsonObject): boolean {
  return SUPPORTED_PROTOCOL_VERSIONS.includes(textIn(opening, "protocolVersion") ?? "");
}

/**
 * @param isOnly whether there is one server, whose answer the client then receives unchanged
 * @param openings by name of the server
 */
export function initializeResult(
  isOnly: boolean,
  openings: ReadonlyMap<string, JsonObject>,
  version: string,
): Reply {
  const [only] = openings.values();
  if (isOnly && only !== undefined) return resultOf(only);
  const versions = [...openings.values()].map((one) => textIn(one, "protocolVersion") ?? "");
  const capabilities = withMembers(undefined, mergedCapabilities([...openings.values()]));
  const instructions = [...openings]
    .map(([name, opening]) => [name, textIn(opening, "instructions")])
    .filter(([, text]) => text !== undefined)
    .map(([name, text]) => `${name}: ${text}`);
  return resultOf(
    withMembers(undefined, {
      protocolVersion: JSON.stringify(versions.sort()[0]),
      capabilities: capabilities.source,
      serverInfo: exact({ name: "countersign-mcp-gateway", version }).source,
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
