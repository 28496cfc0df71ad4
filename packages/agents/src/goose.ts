/** goose: https://goose-docs.ai/docs/guides/context-engineering/hooks/ */

import { homedir } from "node:os";
import { join } from "node:path";
import type { Agent } from "./agent.ts";
import { CLAUDE_CALL, splitAtUnderscores } from "./inputs.ts";
import { SILENT } from "./outputs.ts";

export const GOOSE: Agent = {
  name: "goose",
  title: "goose",
  program: "goose",
  input: {
    event: "event",
    session: "session_id",
    call: "tool_call_id",
    context: {
      session_id: "session_id",
      cwd: "working_dir",
    },
    foreign: {},
  },
  events: [
    {
      name: "PreToolUse",
      call: {
        ...CLAUDE_CALL,
        split: splitAtUnderscores,
      },
      output: {
        // It has no word for an approval: every other output is a failure of the hook.
        approved: SILENT,
        left: SILENT,
        denied: (reason) => JSON.stringify({ decision: "block", reason }),
      },
    },
  ],
  promptEvent: undefined,
  settings: {
    kind: "json",
    file: () => join(homedir(), ".agents", "plugins", "countersign", "hooks", "hooks.json"),
    isGrouped: true,
    head: {},
    limitMaxMs: undefined,
    handler: (command, limitMs) => {
      return {
        type: "command",
        command,
        timeout: Math.ceil(limitMs / 1000),
        on_failure: "block",
      };
    },
  },
  failures: {
    otherExit: "blocks",
    killed: "blocks",
    notStarted: "blocks",
    timeout: "blocks",
    silent: "runs",
    invalidOutput: "blocks",
    blocksSince: [1, 54, 0],
    observed: undefined,
    source: "https://goose-docs.ai/docs/guides/context-engineering/hooks/",
  },
  hasHttpHooks: false,
  windows: {
    kind: "refused",
    reason: "the shell of its hooks on Windows is not documented",
  },
  shell: () => ["/bin/sh", "-c"],
};
