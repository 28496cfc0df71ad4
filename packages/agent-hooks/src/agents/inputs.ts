/**
 * The input that Claude Code introduced, and that other agents send with few differences.
 */

import { splitToolName } from "@countersign/protocol";
import type { CallFormat, HookInputFormat } from "./agent.ts";

export const CLAUDE_CALL: CallFormat = {
  tool: { path: "tool_name" },
  server: undefined,
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

/** Members of the context with the names that the input has. */
export function sameNames(names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, name]));
}
