/**
 * The supported coding agents: how a hook answers each one, and where its settings are.
 *
 * Promises: imports only Node's own modules, because it loads before every tool call.
 */

import { homedir } from "node:os";
import { join } from "node:path";

export interface Agent {
  /** In arguments, `context.runtime`, keys and file names. */
  readonly name: string;
  readonly title: string;
  /**
   * The stdout after an approval. Never empty: the wrapper treats exit code 0 without output as a
   * failure.
   */
  readonly approved: string;
  /**
   * The stdout that blocks a call, with exit code 0. Undefined where the reason goes to stderr,
   * with exit code 2. Claude Code shows the model the command of a hook that exits with 2.
   */
  readonly denied: ((reason: string) => string) | undefined;
  /** The stdout that leaves the decision to the agent's own permissions. */
  readonly left: string;
  /** Further members of the hook's entry in the settings. */
  readonly entry: Readonly<Record<string, string>>;
  /** The shell that runs the command of a hook, which is its last argument. */
  shell(environment: NodeJS.ProcessEnv): readonly [file: string, ...options: string[]];
  /** The user-level settings file. */
  settingsFile(environment: NodeJS.ProcessEnv): string;
}

/** Valid for both agents, without a decision. */
const NO_OPINION = "{}";

function decision(permissionDecision: "allow" | "deny", permissionDecisionReason: string): string {
  const hookEventName = "PreToolUse";
  return JSON.stringify({
    hookSpecificOutput: { hookEventName, permissionDecision, permissionDecisionReason },
  });
}

const CLAUDE_CODE: Agent = {
  name: "claude-code",
  title: "Claude Code",
  approved: decision("allow", "Approved through Countersign."),
  denied: (reason) => decision("deny", reason),
  left: NO_OPINION,
  // Since 2.1.295: a hook that cannot start, is stopped at its limit or ends otherwise blocks.
  entry: { onFailure: "block" },
  shell: () => ["/bin/sh", "-c"],
  settingsFile: (environment) => {
    return join(environment.CLAUDE_CONFIG_DIR || join(homedir(), ".claude"), "settings.json");
  },
};

const CODEX: Agent = {
  name: "codex",
  title: "Codex",
  // Codex treats "allow" without further members as a hook failure. No objection is its approval.
  approved: NO_OPINION,
  // It runs hooks in a login shell. If a shell profile prints a line first, Codex does not read the
  // JSON and continues. It does not ignore exit code 2.
  denied: undefined,
  left: NO_OPINION,
  entry: {},
  shell: ({ SHELL }) => [SHELL || "/bin/sh", "-lc"],
  settingsFile: (environment) => {
    return join(environment.CODEX_HOME || join(homedir(), ".codex"), "hooks.json");
  },
};

export const AGENTS: readonly Agent[] = [CLAUDE_CODE, CODEX];

export function findAgent(name: string | undefined): Agent | undefined {
  return AGENTS.find((agent) => agent.name === name);
}
