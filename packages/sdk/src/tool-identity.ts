/**
 * The identity of a tool of an MCP server: the tool's own name, and the name of its server. Agents
 * join both names for the model, and a provider without the extension `server` receives them joined.
 *
 * @see docs/reference/extensions.md
 */

import { type JsonObject, type JsonValue, parseJson } from "@countersign/protocol";
import type { Submission } from "./answer.ts";
import { SdkError } from "./errors.ts";

/** A tool, and its MCP server if it has one. */
export interface ToolIdentity {
  readonly tool: string;
  readonly server?: string;
}

const PREFIX = "mcp__";
const SEPARATOR = "__";

/**
 * Splits a name as Claude Code, Codex and Hermes join it: `mcp__server__tool`. The server ends at
 * the first two underscores. Any other name is the name of a tool without a server.
 */
export function splitToolName(name: string): ToolIdentity {
  if (!name.startsWith(PREFIX)) return { tool: name };
  const end = name.indexOf(SEPARATOR, PREFIX.length);
  const server = name.slice(PREFIX.length, end);
  const tool = name.slice(end + SEPARATOR.length);
  if (end === -1 || server === "" || tool === "") return { tool: name };
  return { tool, server };
}

/** The submission for a provider that does not record servers. */
export function joinIdentity(submission: Submission): Submission {
  const { tool, server, context } = submission;
  if (server === undefined) return submission;
  return {
    ...submission,
    tool: `${PREFIX}${server}${SEPARATOR}${tool}`,
    server: undefined,
    context: withMembers(context, { server, server_tool: tool }),
  };
}

/** True if the provider refused a submission because of its member `server`. */
export function refusesServer(error: unknown): boolean {
  return error instanceof SdkError && error.status === 400 && error.param === "server";
}

/** Adds members. A member that the object has already is kept. */
function withMembers(
  object: JsonObject | undefined,
  added: Readonly<Record<string, string>>,
): JsonObject {
  const members = object?.members ?? new Map<string, JsonValue>();
  const missing = Object.entries(added).filter(([name]) => !members.has(name));
  const texts = missing.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  const before = object?.source.trim().slice(1, -1).trim() ?? "";
  const all = before === "" ? texts : [...texts, before];
  return parseJson(`{${all.join(",")}}`) as JsonObject;
}
