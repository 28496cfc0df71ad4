/**
 * The coding agents whose hooks ask: how each is told yes and no, and where its settings are.
 *
 * Called by: the hook, for its answers; install, status and doctor for the rest.
 * Promises: no import but Node's own paths, as this runs before every tool call.
 */

import { homedir } from "node:os";
import { join } from "node:path";

export interface Agent {
  /** On the command line, in `context.runtime`, in keys and in names of files. */
  readonly name: string;
  readonly title: string;
  /**
   * What stdout says when the provider approved. Never empty: to our own wrapper an exit code of 0
   * without a word is a fault.
   */
  readonly approved: string;
  /**
   * The stdout that blocks a call, with exit code 0. Undefined where the reason goes to stderr,
   * with exit code 2. Claude Code shows the model the command of a hook that exits with 2.
   */
  readonly denied: ((reason: string) => string) | undefined;
  /** In the agent's own words: no opinion, so its own permissions decide. */
  readonly left: string;
  /** Members of the hook's entry besides the command, the time limit and the message. */
  readonly entry: Readonly<Record<string, string>>;
  /** What runs the command of a hook, which is its last word. */
  shell(environment: NodeJS.ProcessEnv): readonly [file: string, ...options: string[]];
  /** The file of settings for all projects of this user. */
  settingsFile(environment: NodeJS.ProcessEnv): string;
}

/** Valid for both, and says nothing. */
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
  // It takes a bare "allow" for a fault of the hook; not to object is its yes.
  approved: NO_OPINION,
  // It runs hooks in a login shell. One line that a profile prints before it makes JSON plain text,
  // which it takes for silence; an exit code of 2 is not missed.
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
