/** OpenClaw: https://docs.openclaw.ai/plugins/hooks */

import { homedir } from "node:os";
import { join } from "node:path";
import type { Agent } from "./agent.ts";
import { everyFailure } from "./failures.ts";
import { CLAUDE_CALL, PLUGIN_INPUT, sameNames, splitAtUnderscores } from "./inputs.ts";
import { PLUGIN_OUTPUT } from "./outputs.ts";
import { pluginCommand, pluginText } from "./plugin.ts";

export const OPENCLAW: Agent = {
  name: "openclaw",
  title: "OpenClaw",
  program: "openclaw",
  input: {
    ...PLUGIN_INPUT,
    context: sameNames(["session_id", "agent_id", "tool_kind"]),
  },
  events: [
    {
      name: "before_tool_call",
      call: {
        ...CLAUDE_CALL,
        split: splitAtUnderscores,
      },
      output: PLUGIN_OUTPUT,
    },
  ],
  promptEvent: undefined,
  settings: {
    kind: "own-file",
    file: ({ OPENCLAW_STATE_DIR }) => {
      return join(OPENCLAW_STATE_DIR || join(homedir(), ".openclaw"), "countersign.mjs");
    },
    limitMaxMs: undefined,
    text: (command) => {
      return pluginText(
        command,
        `/** Above the longest wait of the hook, which is a week. OpenClaw then blocks the call. */
const LIMIT_MS = 8 * 24 * 60 * 60 * 1000;

export default {
  id: "countersign",
  name: "Countersign",
  register(api) {
    // OpenClaw uses the parameters of the last handler, so this one must be the last.
    const options = { priority: Number.MIN_SAFE_INTEGER, timeoutMs: LIMIT_MS };
    api.on("before_tool_call", async (event, context) => {
      // The text that is submitted is also what the tool receives.
      const params = JSON.parse(JSON.stringify(event.params));
      const call = {
        hook_event_name: "before_tool_call",
        session_id: context.sessionId ?? context.sessionKey,
        tool_use_id: event.toolCallId,
        agent_id: context.agentId,
        tool_kind: event.toolKind,
        tool_name: event.toolName,
        tool_input: params,
      };
      const { isApproved, reason } = await requestApproval(call);
      return isApproved ? { params } : { block: true, blockReason: reason };
    }, options);
  },
};
`,
      );
    },
    command: pluginCommand,
  },
  failures: {
    ...everyFailure("blocks"),
    blocksSince: undefined,
    observed: "2026.9.6",
    source: "https://docs.openclaw.ai/plugins/hooks",
  },
  hasHttpHooks: false,
  windows: {
    kind: "launcher",
    denied: undefined,
    members: {},
    shell: "none",
    source: "https://docs.openclaw.ai/plugins/hooks",
  },
  shell: () => ["/bin/sh", "-c"],
};
