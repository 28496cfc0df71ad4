/** Gives a call of Codex the names of its MCP server and tool. */

import type { HookInput } from "@countersign/agents";
import { type JsonObject, parseJson } from "@countersign/protocol";
import {
  readConfig,
  readToolList,
  serverSettings,
  toolListFile,
  validServers,
} from "./tool-list.ts";
import { type ResolvedTool, resolveCodexTool } from "./tool-names.ts";

/**
 * Without a readable list, the call keeps Codex's spelling.
 *
 * @param profile path
 */
export function nameCodexCall(input: HookInput, profile: string): HookInput {
  const { listed, others } = serversOf(profile);
  const resolved = resolveCodexTool(input.toolName, listed, others);
  if (resolved === undefined) return input;
  const { tool, server } = resolved;
  const named = { ...input, tool, context: describe(input.context, resolved) };
  return server === undefined ? named : { ...named, server };
}

function serversOf(profile: string): ReturnType<typeof validServers> {
  const none = { listed: [], others: [] };
  try {
    const list = readToolList(toolListFile(profile));
    if (list === undefined) return none;
    return validServers(list, serverSettings(readConfig(list.config)));
  } catch {
    return none;
  }
}

/** Adds the origin of the names. Several tools with the name: these, too. */
function describe(context: JsonObject, { source, candidates }: ResolvedTool): JsonObject {
  const members: Record<string, unknown> = { tool_name_from: source };
  if (source === "codex" && candidates.length > 0) {
    members.tool_candidates = candidates.map(({ tool, server }) => `${server}/${tool}`);
  }
  const added = JSON.stringify(members).slice(1, -1);
  const before = context.source.trim().slice(1, -1).trim();
  return parseJson(`{${before === "" ? "" : `${before},`}${added}}`) as JsonObject;
}
