/**
 * The name of a tool of an MCP server. Agents join it with the name of the server for the model.
 *
 * Source: approval provider interface, tool identity: an adapter splits the joined name.
 */

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

/** The name that {@link splitToolName} splits into both. */
export function joinToolName(server: string, tool: string): string {
  return `${PREFIX}${server}${SEPARATOR}${tool}`;
}
