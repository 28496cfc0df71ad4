/**
 * The answers that several agents read. Each agent's file says which of them it uses.
 */

import type { HookOutput } from "./agent.ts";

export const APPROVED = "Approved through Countersign.";

/** Represents no output: the installed command prints nothing for it. */
export const SILENT = "countersign:silent";

/** Valid without a decision. */
export const NO_OPINION = "{}";

/** `hookSpecificOutput.permissionDecision` of Claude Code's event `PreToolUse`. */
export function permissionDecision(
  value: "allow" | "deny",
  permissionDecisionReason: string,
): string {
  return JSON.stringify({
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: value,
      permissionDecisionReason,
    },
  });
}

/** `hookSpecificOutput.decision` of Claude Code's and Codex's event `PermissionRequest`. */
export const PERMISSION_REQUEST: HookOutput = {
  approved: JSON.stringify({
    hookSpecificOutput: {
      hookEventName: "PermissionRequest",
      decision: { behavior: "allow" },
    },
  }),
  left: NO_OPINION,
  denied: (message) => {
    const decision = { behavior: "deny", message };
    return JSON.stringify({ hookSpecificOutput: { hookEventName: "PermissionRequest", decision } });
  },
};

/** `decision` and `reason` at the top level, as Gemini CLI reads them. */
export const TOP_LEVEL_DECISION: HookOutput = {
  approved: JSON.stringify({ decision: "allow" }),
  left: NO_OPINION,
  denied: (reason) => JSON.stringify({ decision: "deny", reason }),
};

/** The answers that our own plugins read. The permissions of the agent apply after an approval. */
export const PLUGIN_OUTPUT: HookOutput = {
  ...TOP_LEVEL_DECISION,
  // A plugin blocks the call without a decision.
  left: TOP_LEVEL_DECISION.approved,
};

/** The answer only stops calls: an approval leaves the decision to the agent's permissions. */
export const EXIT_CODE_ONLY: HookOutput = {
  approved: NO_OPINION,
  left: NO_OPINION,
  denied: undefined,
};

/** A denial that every known agent reads: each one ignores the members of the others. */
export const DENIED_FOR_ANY_AGENT: HookOutput = {
  approved: NO_OPINION,
  left: NO_OPINION,
  denied: (reason) => {
    return JSON.stringify({
      ...JSON.parse(permissionDecision("deny", reason)),
      decision: "block",
      reason,
      permission: "deny",
      agent_message: reason,
    });
  },
};
