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
  /** In the agent's own words: no opinion, so its own permissions decide. */
  readonly left: string;
  /** Members of the hook's entry besides the command, the time limit and the message. */
  readonly entry: Readonly<Record<string, string>>;
  /** Fails open when its hook is stopped at the time limit; said by doctor and the guides. */
  readonly opensOnTimeout: boolean;
  /** The file of settings for all projects of this user. */
  settingsFile(environment: NodeJS.ProcessEnv): string;
}

/** Valid for both, and says nothing. */
const NO_OPINION = "{}";

const ALLOW = {
  hookSpecificOutput: {
    hookEventName: "PreToolUse",
    permissionDecision: "allow",
    permissionDecisionReason: "Approved through Countersign.",
  },
};

const CLAUDE_CODE: Agent = {
  name: "claude-code",
  title: "Claude Code",
  approved: JSON.stringify(ALLOW),
  left: NO_OPINION,
  // Since 2.1.295: a hook that cannot start, is stopped at its limit or ends otherwise blocks.
  entry: { onFailure: "block" },
  opensOnTimeout: false,
  settingsFile: (environment) => {
    return join(environment.CLAUDE_CONFIG_DIR || join(homedir(), ".claude"), "settings.json");
  },
};

const CODEX: Agent = {
  name: "codex",
  title: "Codex",
  // It takes a bare "allow" for a fault of the hook; not to object is its yes.
  approved: NO_OPINION,
  left: NO_OPINION,
  entry: {},
  opensOnTimeout: true,
  settingsFile: (environment) => {
    return join(environment.CODEX_HOME || join(homedir(), ".codex"), "hooks.json");
  },
};

export const AGENTS: readonly Agent[] = [CLAUDE_CODE, CODEX];

export function findAgent(name: string | undefined): Agent | undefined {
  return AGENTS.find((agent) => agent.name === name);
}
