/**
 * The parts of the command of a hook that all systems have in common.
 */

export interface HookPlace {
  /** Path of Node. */
  readonly node: string;
  /** Path of the program, which runs the hook with the argument `hook`. */
  readonly script: string;
  readonly agent: string;
  /** The stdout that blocks the call if the hook fails. Undefined: exit code 2. */
  readonly denied: ((reason: string) => string) | undefined;
  /** The hook is for the event before the agent's own prompt. */
  readonly isPrompt: boolean;
  readonly profile: string;
  /** Home of the user. The compile cache is below it. */
  readonly home: string;
  /** PEM file of certificate authorities that Node trusts besides its own. */
  readonly caFile: string | undefined;
  /** Pass the variables of the hook. */
  readonly environment: boolean;
  /** Name of the program, for commands that error messages recommend. */
  readonly program: string;
}

/** The words that start the hook. */
export function hookWords({ node, script, agent, profile, isPrompt }: HookPlace): string[] {
  const words = [node, script, "hook", agent, "--profile", profile];
  return isPrompt ? [...words, "--prompts"] : words;
}

/** The reason for a call that is blocked because the hook failed. */
export function failureReason({ program, agent }: HookPlace): string {
  const failure = "Countersign: The approval hook failed. The call did not run.";
  return `${failure} Run: ${program} doctor ${agent}`;
}
