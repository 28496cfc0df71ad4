/**
 * The command that an agent runs before each call. Around the hook stands a shell that turns what
 * the hook cannot answer for into a no: Node that is gone, a package that is broken, a process that
 * was killed. Without it, agents run the tool in all of those cases.
 *
 * Called by: install, status and doctor.
 */

/** The shell's name for itself, by which an entry is known as ours. */
const NAME = "countersign-hook";

/**
 * Zero counts with a word on stdout alone: a script that was cut off to nothing also ends with 0.
 * Options that the environment has for Node belong to somebody else's program.
 */
const SHELL = [
  "unset NODE_OPTIONS",
  // No shell in between: the hook sees by its parent whether the agent is still there.
  'o=$(exec "$@")',
  "c=$?",
  '[ $c = 0 ] && [ -n "$o" ] && printf "%s\\n" "$o" && exit 0',
  '[ $c = 2 ] || echo "Countersign: the hook failed (code $c), so this call was not run. ' +
    'See: countersign doctor" >&2',
  "exit 2",
].join("; ");

export interface HookPlace {
  /** Of Node. */
  readonly node: string;
  /** Of bin/countersign.js. */
  readonly script: string;
  readonly agent: string;
  readonly profile: string;
}

/** For `sh -c`, and for every shell whose single quotes are plain. */
export function hookCommand({ node, script, agent, profile }: HookPlace): string {
  const words = [SHELL, NAME, node, script, "hook", agent, "--profile", profile];
  // In place of the agent's own shell: what the agent stops is what the hook watches.
  return `exec /bin/sh -c ${words.map(quote).join(" ")}`;
}

export function isHookCommand(command: string, agent: string): boolean {
  return command.includes(` ${quote(NAME)} `) && command.includes(` ${quote(agent)} `);
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
