/** Codex: https://github.com/openai/codex, `codex-rs/hooks` */

import { homedir } from "node:os";
import { join } from "node:path";
import type { Agent } from "./agent.ts";
import { CLAUDE_CALL, CLAUDE_INPUT } from "./inputs.ts";
import { EXIT_CODE_ONLY, PERMISSION_REQUEST, permissionDecision } from "./outputs.ts";

export const CODEX: Agent = {
  name: "codex",
  title: "Codex",
  program: "codex",
  input: CLAUDE_INPUT,
  events: [
    {
      name: "PreToolUse",
      call: CLAUDE_CALL,
      // Codex treats "allow" without further members as a hook failure. It runs hooks in a login
      // shell. If a shell profile prints a line first, Codex does not read JSON and continues. It
      // does not ignore exit code 2.
      output: EXIT_CODE_ONLY,
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
      return join(environment.CODEX_HOME || join(homedir(), ".codex"), "hooks.json");
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
      };
    },
  },
  failures: {
    otherExit: "runs",
    killed: "runs",
    notStarted: "runs",
    timeout: "runs",
    silent: "runs",
    invalidOutput: "runs",
    blocksSince: undefined,
    observed: "0.169.0",
    source: "https://github.com/openai/codex/tree/main/codex-rs/hooks",
  },
  hasHttpHooks: false,
  windows: {
    kind: "launcher",
    denied: (reason) => permissionDecision("deny", reason),
    members: {},
    shell: "PowerShell or cmd.exe",
    source: "https://github.com/openai/codex/blob/main/codex-rs/hooks/src/engine/command_runner.rs",
  },
  shell: ({ SHELL }) => [SHELL || "/bin/sh", "-lc"],
};
