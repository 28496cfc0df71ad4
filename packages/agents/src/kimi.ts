/** Kimi Code: https://moonshotai.github.io/kimi-code/en/customization/hooks */

import { homedir } from "node:os";
import { join } from "node:path";
import type { Agent } from "./agent.ts";
import { everyFailure } from "./failures.ts";
import { CLAUDE_CALL, CLAUDE_INPUT, sameNames } from "./inputs.ts";
import { EXIT_CODE_ONLY, permissionDecision } from "./outputs.ts";

export const KIMI: Agent = {
  name: "kimi",
  title: "Kimi Code",
  program: "kimi",
  input: {
    ...CLAUDE_INPUT,
    call: "tool_call_id",
    context: sameNames(["session_id", "cwd"]),
  },
  events: [
    {
      name: "PreToolUse",
      call: CLAUDE_CALL,
      output: EXIT_CODE_ONLY,
    },
  ],
  // It cannot decide: Kimi Code does not read the answers of hooks for this event.
  promptEvent: undefined,
  settings: {
    kind: "toml",
    file: ({ KIMI_CODE_HOME }) => {
      return join(KIMI_CODE_HOME || join(homedir(), ".kimi-code"), "config.toml");
    },
    limitMaxMs: 600_000,
    // Kimi Code ignores the whole file if a table has any other member.
    handler: (command, limitMs) => {
      return {
        command,
        timeout: Math.ceil(limitMs / 1000),
      };
    },
  },
  failures: {
    ...everyFailure("runs"),
    blocksSince: undefined,
    observed: "2.1.0",
    source: "https://moonshotai.github.io/kimi-code/en/customization/hooks",
  },
  hasHttpHooks: false,
  windows: {
    kind: "launcher",
    denied: (reason) => permissionDecision("deny", reason),
    members: {},
    shell: "cmd.exe",
    source: "https://moonshotai.github.io/kimi-code/en/customization/hooks",
  },
  shell: () => ["/bin/sh", "-c"],
};
