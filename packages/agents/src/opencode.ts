/** OpenCode: https://opencode.ai/docs/plugins/ */

import { homedir } from "node:os";
import { join } from "node:path";
import type { Agent } from "./agent.ts";
import { everyFailure } from "./failures.ts";
import { asIs, CLAUDE_CALL, PLUGIN_INPUT } from "./inputs.ts";
import { PLUGIN_OUTPUT } from "./outputs.ts";
import { pluginCommand, pluginText } from "./plugin.ts";

export const OPENCODE: Agent = {
  name: "opencode",
  title: "OpenCode",
  program: "opencode",
  input: PLUGIN_INPUT,
  events: [
    {
      name: "tool.execute.before",
      call: {
        ...CLAUDE_CALL,
        // `server_tool` does not show where the name of the server ends.
        split: asIs,
      },
      output: PLUGIN_OUTPUT,
    },
  ],
  promptEvent: undefined,
  settings: {
    kind: "own-file",
    file: ({ XDG_CONFIG_HOME }) => {
      const folder = XDG_CONFIG_HOME || join(homedir(), ".config");
      return join(folder, "opencode", "plugin", "countersign.js");
    },
    limitMaxMs: undefined,
    text: (command) => {
      return pluginText(
        command,
        `// OpenCode runs the tool after every handler that does not throw.
export const CountersignPlugin = async ({ directory }) => ({
  "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
    const call = {
      hook_event_name: "tool.execute.before",
      session_id: sessionID,
      tool_use_id: callID,
      cwd: directory,
      tool_name: tool,
      tool_input: args,
    };
    const { isApproved, reason } = await requestApproval(call);
    if (!isApproved) throw new Error(reason);
  },
});
`,
      );
    },
    command: pluginCommand,
  },
  failures: {
    ...everyFailure("blocks"),
    blocksSince: undefined,
    observed: "1.18.33",
    source: "https://opencode.ai/docs/plugins/",
  },
  hasHttpHooks: false,
  windows: {
    kind: "launcher",
    denied: undefined,
    members: {},
    shell: "none",
    source: "https://opencode.ai/docs/plugins/",
  },
  shell: () => ["/bin/sh", "-c"],
};
