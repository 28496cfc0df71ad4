/** Hermes Agent: https://hermes-agent.nousresearch.com/docs/user-guide/features/hooks */

import { homedir } from "node:os";
import { join } from "node:path";
import type { Agent } from "./agent.ts";
import { everyFailure } from "./failures.ts";
import { CLAUDE_CALL } from "./inputs.ts";
import { NO_OPINION } from "./outputs.ts";

export const HERMES: Agent = {
  name: "hermes",
  title: "Hermes Agent",
  program: "hermes",
  input: {
    event: "hook_event_name",
    session: "session_id",
    call: "extra.tool_call_id",
    context: {
      session_id: "session_id",
      cwd: "cwd",
      turn_id: "extra.turn_id",
    },
    foreign: {},
  },
  events: [
    {
      name: "pre_tool_call",
      call: CLAUDE_CALL,
      output: {
        approved: NO_OPINION,
        left: NO_OPINION,
        denied: (message) => JSON.stringify({ action: "block", message }),
      },
    },
  ],
  promptEvent: undefined,
  settings: {
    kind: "yaml",
    file: ({ HERMES_HOME }) => {
      return join(HERMES_HOME || join(homedir(), ".hermes"), "config.yaml");
    },
    limitMaxMs: 300_000,
    handler: (command, limitMs) => {
      return {
        // Hermes starts it without a shell.
        command: `/bin/sh -c ${quote(command)}`,
        timeout: Math.ceil(limitMs / 1000),
        fail_closed: true,
      };
    },
  },
  failures: {
    ...everyFailure("runs"),
    blocksSince: undefined,
    observed: "0.19.0",
    source: "https://github.com/NousResearch/hermes-agent/blob/main/agent/shell_hooks.py",
  },
  hasHttpHooks: false,
  windows: {
    kind: "refused",
    reason: "it splits the command as a POSIX shell does, and removes backslashes from paths",
  },
  shell: () => ["/bin/sh", "-c"],
};

function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
