/** Gemini CLI: https://geminicli.com/docs/hooks/reference/ */

import { homedir } from "node:os";
import { join } from "node:path";
import type { Agent } from "./agent.ts";
import { asIs, CLAUDE_CALL, CLAUDE_INPUT } from "./inputs.ts";
import { TOP_LEVEL_DECISION } from "./outputs.ts";

export const GEMINI_CLI: Agent = {
  name: "gemini-cli",
  title: "Gemini CLI",
  program: "gemini",
  input: {
    ...CLAUDE_INPUT,
    call: undefined,
  },
  events: [
    {
      name: "BeforeTool",
      call: {
        ...CLAUDE_CALL,
        mcp: { server: "mcp_context.server_name", tool: "mcp_context.tool_name" },
        // `mcp_server_tool` does not show where the name of the server ends.
        split: asIs,
      },
      // It asks its own user before the hook runs, so an approval does not replace that.
      output: TOP_LEVEL_DECISION,
    },
  ],
  promptEvent: undefined,
  settings: {
    kind: "json",
    file: (environment) => {
      return join(environment.GEMINI_CLI_HOME || homedir(), ".gemini", "settings.json");
    },
    isGrouped: true,
    head: {},
    limitMaxMs: undefined,
    handler: (command, limitMs) => {
      return {
        type: "command",
        name: "countersign",
        command,
        // Milliseconds.
        timeout: limitMs,
      };
    },
  },
  failures: {
    otherExit: "runs",
    killed: "runs",
    notStarted: "blocks",
    timeout: "runs",
    silent: "runs",
    invalidOutput: "runs",
    blocksSince: undefined,
    observed: "0.61.0",
    source: "https://geminicli.com/docs/hooks/reference/",
  },
  hasHttpHooks: false,
  windows: {
    kind: "launcher",
    denied: undefined,
    members: {},
    shell: "PowerShell",
    source:
      "https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/hooks/hookRunner.ts",
  },
  shell: () => ["bash", "-c"],
};
