/** Pi: https://github.com/earendil-works/pi/blob/main/packages/coding-agent/docs/extensions.md */

import { homedir } from "node:os";
import { join } from "node:path";
import type { Agent } from "./agent.ts";
import { everyFailure } from "./failures.ts";
import { asIs, CLAUDE_CALL, PLUGIN_INPUT } from "./inputs.ts";
import { PLUGIN_OUTPUT } from "./outputs.ts";
import { pluginCommand, pluginText } from "./plugin.ts";

export const PI: Agent = {
  name: "pi",
  title: "Pi",
  program: "pi",
  input: PLUGIN_INPUT,
  events: [
    {
      name: "tool_call",
      call: {
        ...CLAUDE_CALL,
        // Pi has no MCP servers of its own.
        split: asIs,
      },
      output: PLUGIN_OUTPUT,
    },
  ],
  promptEvent: undefined,
  settings: {
    kind: "own-file",
    file: ({ PI_CODING_AGENT_DIR }) => {
      const folder = PI_CODING_AGENT_DIR || join(homedir(), ".pi", "agent");
      return join(folder, "extensions", "countersign.js");
    },
    limitMaxMs: undefined,
    text: (command) => {
      return pluginText(
        command,
        `/** Pi permits later extensions to change the arguments. A frozen object prevents this. */
function freeze(value) {
  if (typeof value !== "object" || value === null) return;
  Object.freeze(value);
  for (const member of Object.values(value)) freeze(member);
}

// Pi runs the tool after every handler that does not block.
export default function countersign(pi) {
  pi.on("tool_call", async ({ toolName, toolCallId, input }, { cwd, sessionManager }) => {
    freeze(input);
    const call = {
      hook_event_name: "tool_call",
      session_id: sessionManager.getSessionId(),
      tool_use_id: toolCallId,
      cwd,
      tool_name: toolName,
      tool_input: input,
    };
    const { isApproved, reason } = await requestApproval(call);
    return isApproved ? undefined : { block: true, reason };
  });
}
`,
      );
    },
    command: pluginCommand,
  },
  failures: {
    ...everyFailure("blocks"),
    blocksSince: undefined,
    observed: "0.74.2",
    source:
      "https://github.com/earendil-works/pi/blob/main/packages/coding-agent/docs/extensions.md",
  },
  hasHttpHooks: false,
  windows: {
    kind: "launcher",
    denied: undefined,
    members: {},
    shell: "none",
    source:
      "https://github.com/earendil-works/pi/blob/main/packages/coding-agent/docs/extensions.md",
  },
  shell: () => ["/bin/sh", "-c"],
};
