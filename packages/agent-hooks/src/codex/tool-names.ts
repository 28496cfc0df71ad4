/**
 * The names of MCP tools in the hooks of Codex. Codex replaces characters outside [A-Za-z0-9_] in
 * the names of servers and tools, so `gmail.send_email` becomes `gmail_send_email`. It adds a hash
 * to names that are too long, or that would be equal.
 *
 * Pure.
 *
 * Source: openai/codex, codex-rs/codex-mcp/src/tools.rs, and `hook_tool_name` of the handler of MCP
 * tools. The names were compared with those of Codex 0.169.0.
 */

import { createHash } from "node:crypto";
import { splitToolName, type ToolIdentity } from "@countersign/protocol";

/** A server of the configuration, with the tools that it offers. */
export interface ListedServer {
  readonly name: string;
  readonly tools: readonly string[];
}

/** The names of a call in the request. */
export interface ResolvedTool extends ToolIdentity {
  /**
   * `server`: exactly one listed tool has the name, and these are the names of the server.
   * `codex`: these are the names as Codex writes them.
   */
  readonly source: "server" | "codex";
  /** All listed tools with the name. */
  readonly candidates: readonly ToolIdentity[];
}

const PREFIX = "mcp__";
const SEPARATOR = "__";

/** Bytes of the names of server and tool, with a separator. */
const NAME_BYTES_MAX = 128;

const HASH_DIGITS = 12;

/**
 * @param name as the hook receives it
 * @param servers listed with the present configuration
 * @param others names of the configured servers without a list, which may have any tools
 */
export function resolveCodexTool(
  name: string,
  servers: readonly ListedServer[],
  others: readonly string[],
): ResolvedTool | undefined {
  if (!name.startsWith(PREFIX)) return undefined;
  const candidates = servers.flatMap(({ name: server, tools }) => {
    const own = tools.filter((tool) => codexNames(server, tool).has(name));
    return own.map((tool): ToolIdentity => ({ tool, server }));
  });
  const [first, second] = candidates;
  const isOther = others.some((server) => isPrefixOf(server, name));
  if (first === undefined || second !== undefined || isOther) {
    return { ...splitToolName(name), source: "codex", candidates };
  }
  return { ...first, source: "server", candidates };
}

/** True if the name can belong to a tool of this server. */
function isPrefixOf(server: string, name: string): boolean {
  return namespacesOf(server).some((namespace) => {
    return name.startsWith(join(namespace, ""));
  });
}

/**
 * All names that Codex can give to a tool. Codex adds hashes only beside other servers and tools
 * with an equal name, and these depend on the project and on options of the session.
 */
export function codexNames(server: string, tool: string): ReadonlySet<string> {
  const identity = identityOf(server, tool);
  const plain = sanitize(tool);
  const names = namespacesOf(server).flatMap((namespace) => {
    return [plain, plain + hashOf(identity)].map((name) => {
      const isShort = namespace.length + SEPARATOR.length + name.length <= NAME_BYTES_MAX;
      return isShort ? join(namespace, name) : shorten(namespace, name, identity);
    });
  });
  return new Set(names);
}

function identityOf(server: string, tool: string): string {
  return `${server}\0${server}\0\0${tool}\0${tool}`;
}

function namespacesOf(server: string): readonly [string, string] {
  const name = sanitize(server);
  const plain = name.startsWith(PREFIX) ? name : PREFIX + name;
  return [plain, withHash(plain, `${server}\0${server}\0`)];
}

/** Codex adds the hash before a separator at the end. */
function withHash(namespace: string, identity: string): string {
  if (!namespace.endsWith(SEPARATOR)) return namespace + hashOf(identity);
  return namespace.slice(0, -SEPARATOR.length) + hashOf(identity) + SEPARATOR;
}

/** A name that is too long: its start, and a hash of the identity. */
function shorten(namespace: string, tool: string, identity: string): string {
  const hash = hashOf(identity);
  const toolMax = NAME_BYTES_MAX - SEPARATOR.length - namespace.length;
  if (toolMax >= hash.length) {
    return join(namespace, tool.slice(0, toolMax - hash.length) + hash);
  }
  return join(namespace.slice(0, NAME_BYTES_MAX - SEPARATOR.length - hash.length), hash);
}

function join(namespace: string, tool: string): string {
  return namespace.replace(/_+$/, "") + SEPARATOR + tool.replace(/^_+/, "");
}

function sanitize(name: string): string {
  return name.replace(/[^A-Za-z0-9_]/gu, "_") || "_";
}

function hashOf(identity: string): string {
  return `_${createHash("sha1").update(identity).digest("hex").slice(0, HASH_DIGITS)}`;
}
