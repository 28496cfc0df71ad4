/** Claude Code: https://code.claude.com/docs/en/hooks */

import { homedir } from "node:os";
import { join } from "node:path";
import type { Agent } from "./agent.ts";
import { CLAUDE_CALL, CLAUDE_INPUT } from "./inputs.ts";
import { APPROVED, NO_OPINION, PERMISSION_REQUEST, permissionDecision } from "./outputs.ts";

export const CLAUDE_CODE: Agent = {
  name: "claude-code",
  title: "Claude Code",
  program: "claude",
  input: {
    ...CLAUDE_INPUT,
    // These agents also read the settings of Claude Code.
    foreign: {
      cursor_version: "Cursor",
      client_type: "Kimi Code",
    },
  },
  events: [
    {
      name: "PreToolUse",
      call: CLAUDE_CALL,
      output: {
        approved: permissionDecision("allow", APPROVED),
        left: NO_OPINION,
        // After exit code 2 it shows the model the command of the hook.
        denied: (reason) => permissionDecision("deny", reason),
      },
    },
  ],
  promptEvent: {
    name: "PermissionRequest",
    call: CLAUDE_CALL,
    output: PERMISSION_REQUEST,
  },
  settings: {
    kind: "json",
    file: (environment) => {
      return join(environment.CLAUDE_CONFIG_DIR || join(homedir(), ".claude"), "settings.json");
    },
    isGrouped: true,
    head: {},
    limitMaxMs: undefined,
    handler: (command, limitMs) => {
      return {
        type: "command",
        command,
        timeout: Math.ceil(limitMs / 1000),
        statusMessage: "Waiting for approval",
        // Since 2.1.295: a hook that cannot start, fails or reaches its limit blocks the call.
        onFailure: "block",
      };
    },
  },
  failures: {
    otherExit: "blocks",
    killed: "blocks",
    notStarted: "blocks",
    timeout: "blocks",
    silent: "asks",
    invalidOutput: "blocks",
    blocksSince: [2, 1, 295],
    observed: "2.1.330",
    source: "https://code.claude.com/docs/en/hooks",
  },
  hasHttpHooks: true,
  windows: {
    kind: "launcher",
    denied: undefined,
    members: { shell: "powershell" },
    shell: "PowerShell",
    source: "https://code.claude.com/docs/en/hooks",
  },
  shell: () => ["/bin/sh", "-c"],
};
