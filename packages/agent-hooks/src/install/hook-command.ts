/**
 * The command that an agent runs before each call: `env -i`, a shell, and the hook inside of it.
 * On Windows, windows-launcher.ts does the same.
 *
 * `env -i` removes every variable that a project's settings can set for hooks. With those, Node
 * could load other code (`NODE_COMPILE_CACHE`, `OPENSSL_CONF`, `XDG_CACHE_HOME`) that approves.
 * The shell turns every failure of the hook into a blocked call: a missing Node, a broken package,
 * a killed process. Agents run the tool in those cases.
 */

import { SILENT } from "@countersign/agents";
import { HOOK_VARIABLES } from "../profile/hook-settings.ts";
import { failureReason, type HookPlace, hookWords } from "./hook-place.ts";
import { isLauncherCommand } from "./windows-launcher.ts";

/** The shell's `$0`. It marks an entry in the settings as ours. */
const NAME = "countersign-hook";

/**
 * Exit code 0 needs text on stdout: a script that was truncated to nothing also exits with 0. The
 * text SILENT represents no output, which is the approval of some agents.
 *
 * A failure prints `$1`, the agent's denial, or exits with 2 where the agent has none.
 */
function shellOf(program: string): string {
  return [
    "d=$1",
    "shift",
    // No shell in between: the hook checks its parent to see whether the agent still runs.
    'o=$(exec "$@")',
    "c=$?",
    `[ $c = 0 ] && [ "$o" = ${SILENT} ] && exit 0`,
    '[ $c = 0 ] && [ -n "$o" ] && printf "%s\\n" "$o" && exit 0',
    '[ $c = 2 ] || echo "Countersign: the hook failed (code $c), so this call was not run. ' +
      `See: ${program} doctor" >&2`,
    '[ -n "$d" ] && printf "%s\\n" "$d" && exit 0',
    "exit 2",
  ].join("; ");
}

/** For `sh -c`, and for other shells with plain single quotes. */
export function hookCommand(place: HookPlace): string {
  const { home, caFile, environment, program } = place;
  const denial = place.denied?.(failureReason(place)) ?? "";
  const variables = [`HOME=${home}`, "PATH=/usr/bin:/bin"];
  if (caFile !== undefined) variables.push(`NODE_EXTRA_CA_CERTS=${caFile}`);
  const passed = environment ? HOOK_VARIABLES.map((name) => `${name}="$${name}"`) : [];
  const words = ["-c", shellOf(program), NAME, denial, ...hookWords(place)];
  // `exec` replaces the agent's own shell: a signal of the agent reaches the parent of the hook.
  return [
    "exec /usr/bin/env -i",
    ...variables.map(quote),
    ...passed,
    "/bin/sh",
    ...words.map(quote),
  ].join(" ");
}

/** @param command of any system */
export function isHookCommand(command: string, agent: string): boolean {
  if (isLauncherCommand(command, agent)) return true;
  return command.includes(` ${quote(NAME)} `) && command.includes(` ${quote(agent)} `);
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
