/** Cline, its command line: https://docs.cline.bot/customization/hooks */

import { homedir } from "node:os";
import { join } from "node:path";
import type { Agent } from "./agent.ts";
import { everyFailure } from "./failures.ts";
import { CLAUDE_CALL, splitAtUnderscores } from "./inputs.ts";
import { NO_OPINION } from "./outputs.ts";

export const CLINE: Agent = {
  name: "cline",
  title: "Cline",
  program: "cline",
  input: {
    event: "hookName",
    session: "taskId",
    call: "tool_call.id",
    context: {
      session_id: "taskId",
      cwd: "workspaceInfo.rootPath",
      agent_id: "agent_id",
    },
    foreign: {},
  },
  events: [
    {
      name: "tool_call",
      call: {
        ...CLAUDE_CALL,
        tool: { path: "tool_call.name" },
        arguments: "tool_call.input",
        split: splitAtUnderscores,
      },
      output: {
        approved: NO_OPINION,
        left: NO_OPINION,
        denied: (errorMessage) => JSON.stringify({ cancel: true, errorMessage }),
      },
    },
  ],
  promptEvent: undefined,
  settings: {
    kind: "own-file",
    file: ({ CLINE_DIR }) => {
      return join(CLINE_DIR || join(homedir(), ".cline"), "hooks", "PreToolUse");
    },
    limitMaxMs: 120_000,
    text: (command) => {
      return [
        "#!/bin/sh",
        "# Written by Countersign. Remove it with: countersign uninstall",
        command,
        "",
      ].join("\n");
    },
    command: (text) => /^exec .+$/m.exec(text)?.[0],
  },
  failures: {
    ...everyFailure("runs"),
    blocksSince: undefined,
    observed: "3.0.65",
    source: "https://docs.cline.bot/customization/hooks",
  },
  hasHttpHooks: false,
  windows: {
    kind: "refused",
    reason: "its hook file is a shell script",
  },
  shell: () => ["/bin/sh", "-c"],
};
