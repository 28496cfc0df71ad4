/** Windsurf: https://docs.windsurf.com/windsurf/cascade/hooks */

import { homedir } from "node:os";
import { join } from "node:path";
import type { Agent, CallFormat, HookEvent } from "./agent.ts";
import { asIs } from "./inputs.ts";
import { EXIT_CODE_ONLY } from "./outputs.ts";

/** An event for one built-in tool, with the tool's name. */
function eventOf(event: string, tool: string): HookEvent {
  const call: CallFormat = {
    tool: { name: tool },
    mcp: undefined,
    arguments: "tool_info",
    isText: false,
    split: asIs,
  };
  return { name: event, call, output: EXIT_CODE_ONLY };
}

const MCP_EVENT: HookEvent = {
  name: "pre_mcp_tool_use",
  call: {
    tool: { path: "tool_info.mcp_tool_name" },
    mcp: { server: "tool_info.mcp_server_name", tool: "tool_info.mcp_tool_name" },
    arguments: "tool_info.mcp_tool_arguments",
    isText: false,
    split: asIs,
  },
  output: EXIT_CODE_ONLY,
};

export const WINDSURF: Agent = {
  name: "windsurf",
  title: "Windsurf",
  program: undefined,
  input: {
    event: "agent_action_name",
    session: "trajectory_id",
    call: undefined,
    context: {
      session_id: "trajectory_id",
      turn_id: "execution_id",
    },
    foreign: {},
  },
  events: [
    eventOf("pre_run_command", "run_command"),
    eventOf("pre_write_code", "write_code"),
    eventOf("pre_read_code", "read_code"),
    MCP_EVENT,
  ],
  promptEvent: undefined,
  settings: {
    kind: "json",
    file: () => join(homedir(), ".codeium", "windsurf", "hooks.json"),
    isGrouped: false,
    head: {},
    limitMaxMs: undefined,
    handler: (command) => {
      return {
        command,
        show_output: true,
      };
    },
  },
  failures: {
    otherExit: "runs",
    killed: "runs",
    notStarted: "runs",
    timeout: "unknown",
    silent: "runs",
    invalidOutput: "runs",
    blocksSince: undefined,
    observed: undefined,
    source: "https://docs.windsurf.com/windsurf/cascade/hooks",
  },
  hasHttpHooks: false,
  windows: {
    kind: "refused",
    reason: "it blocks only after exit code 2, which PowerShell does not pass on",
  },
  shell: () => ["bash", "-c"],
};
