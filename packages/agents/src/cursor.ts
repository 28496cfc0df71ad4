/** Cursor: https://cursor.com/docs/agent/hooks */

import { homedir } from "node:os";
import { join } from "node:path";
import type { ToolIdentity } from "@countersign/protocol";
import type { Agent } from "./agent.ts";
import { CLAUDE_CALL, sameNames } from "./inputs.ts";

/** `MCP:server:tool`. */
const MCP_NAME = /^MCP:([^:]+):(.+)$/s;

function splitName(name: string): ToolIdentity {
  const [, server, tool] = MCP_NAME.exec(name) ?? [];
  return server === undefined || tool === undefined ? { tool: name } : { tool, server };
}

export const CURSOR: Agent = {
  name: "cursor",
  title: "Cursor",
  program: undefined,
  input: {
    event: "hook_event_name",
    session: "conversation_id",
    // The event occurs again if Cursor repeats a command outside its sandbox. With an id, the
    // second hook would find a used approval.
    call: undefined,
    context: {
      session_id: "conversation_id",
      turn_id: "generation_id",
      ...sameNames(["cwd", "model", "cursor_version"]),
    },
    foreign: {},
  },
  events: [
    {
      name: "preToolUse",
      call: {
        ...CLAUDE_CALL,
        split: splitName,
      },
      output: {
        approved: JSON.stringify({ permission: "allow" }),
        // Cursor does not support "ask" at this event. Its own settings apply after "allow".
        left: JSON.stringify({ permission: "allow" }),
        denied: (reason) => {
          return JSON.stringify({
            permission: "deny",
            user_message: reason,
            agent_message: reason,
          });
        },
      },
    },
  ],
  promptEvent: undefined,
  settings: {
    kind: "json",
    file: () => join(homedir(), ".cursor", "hooks.json"),
    isGrouped: false,
    head: { version: 1 },
    limitMaxMs: undefined,
    handler: (command, limitMs) => {
      return {
        command,
        timeout: Math.ceil(limitMs / 1000),
        failClosed: true,
      };
    },
  },
  failures: {
    otherExit: "blocks",
    killed: "blocks",
    notStarted: "blocks",
    timeout: "blocks",
    silent: "blocks",
    invalidOutput: "blocks",
    blocksSince: undefined,
    observed: undefined,
    source: "https://cursor.com/docs/agent/hooks",
  },
  hasHttpHooks: false,
  windows: {
    kind: "launcher",
    denied: undefined,
    members: {},
    shell: "PowerShell",
    source: "https://github.com/entireio/cli/pull/2352",
  },
  shell: () => ["/bin/sh", "-c"],
};
