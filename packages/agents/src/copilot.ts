/**
 * GitHub Copilot: its CLI and the agent mode of VS Code, which read the same files of hooks.
 *
 * @see https://docs.github.com/en/copilot/reference/hooks-reference
 * @see https://code.visualstudio.com/docs/agent-customization/hooks
 */

import { homedir } from "node:os";
import { join } from "node:path";
import type { Agent } from "./agent.ts";
import { asIs, CLAUDE_CALL, CLAUDE_INPUT } from "./inputs.ts";
import { APPROVED, NO_OPINION, permissionDecision } from "./outputs.ts";

/** The CLI reads the members at the top level, VS Code those in `hookSpecificOutput`. */
function forBoth(value: "allow" | "deny", permissionDecisionReason: string): string {
  return JSON.stringify({
    permissionDecision: value,
    permissionDecisionReason,
    ...JSON.parse(permissionDecision(value, permissionDecisionReason)),
  });
}

export const COPILOT: Agent = {
  name: "copilot",
  title: "GitHub Copilot",
  program: "copilot",
  input: {
    ...CLAUDE_INPUT,
    // VS Code sends the id of the call, the CLI does not.
    call: undefined,
  },
  events: [
    {
      // With this spelling the CLI sends the members of VS Code, and Claude Code's tool names.
      name: "PreToolUse",
      call: {
        ...CLAUDE_CALL,
        isText: true,
        split: asIs,
      },
      output: {
        approved: forBoth("allow", APPROVED),
        left: NO_OPINION,
        denied: (reason) => forBoth("deny", reason),
      },
    },
  ],
  // `permissionRequest` of the CLI occurs before its rules, also where it would not ask.
  promptEvent: undefined,
  settings: {
    kind: "json",
    file: (environment) => {
      const folder = environment.COPILOT_HOME || join(homedir(), ".copilot");
      return join(folder, "hooks", "countersign.json");
    },
    isGrouped: false,
    head: { version: 1 },
    limitMaxMs: undefined,
    handler: (command, limitMs) => {
      return {
        type: "command",
        command,
        // Seconds. VS Code reads `timeout`, and the CLI prefers `timeoutSec`.
        timeout: Math.ceil(limitMs / 1000),
        timeoutSec: Math.ceil(limitMs / 1000),
      };
    },
  },
  failures: {
    otherExit: "blocks",
    killed: "blocks",
    notStarted: "blocks",
    timeout: "runs",
    silent: "runs",
    invalidOutput: "runs",
    blocksSince: undefined,
    // Of the CLI. VS Code runs the call after other exit codes than 2.
    observed: "1.0.102",
    source: "https://docs.github.com/en/copilot/reference/hooks-reference",
  },
  hasHttpHooks: true,
  windows: {
    kind: "launcher",
    denied: undefined,
    members: {},
    shell: "PowerShell",
    source: "https://docs.github.com/en/copilot/reference/hooks-reference",
  },
  shell: () => ["bash", "-c"],
};
