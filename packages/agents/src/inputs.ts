/**
 * The input that Claude Code introduced, and that other agents send with few differences.
 */

import { splitToolName, type ToolIdentity } from "@countersign/protocol";
import type { CallFormat, HookInputFormat } from "./agent.ts";

export const CLAUDE_CALL: CallFormat = {
  tool: { path: "tool_name" },
  mcp: undefined,
  arguments: "tool_input",
  isText: false,
  split: splitToolName,
};

export const CLAUDE_INPUT: HookInputFormat = {
  event: "hook_event_name",
  session: "session_id",
  call: "tool_use_id",
  context: sameNames([
    "session_id",
    "cwd",
    "permission_mode",
    "model",
    "agent_id",
    "agent_type",
    "turn_id",
    "prompt_id",
  ]),
  foreign: {},
};

/** The input that our own plugins send. */
export const PLUGIN_INPUT: HookInputFormat = {
  ...CLAUDE_INPUT,
  context: sameNames(["session_id", "cwd"]),
};

/** For tools without servers in their names. */
export function asIs(name: string): ToolIdentity {
  return { tool: name };
}

/** Splits `server__tool`. */
export function splitAtUnderscores(name: string): ToolIdentity {
  const at = name.indexOf("__");
  if (at < 1 || at + 2 === name.length) return { tool: name };
  return { tool: name.slice(at + 2), server: name.slice(0, at) };
}

/** Members of the context with the names that the input has. */
export function sameNames(names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, name]));
}
