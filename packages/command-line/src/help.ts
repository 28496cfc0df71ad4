/**
 * The text of `--help`, from the tables that also read the arguments.
 */

import type { Command } from "./command.ts";
import type { CommandOption } from "./command-line.ts";

const EXIT_CODES = "Exit codes: 0 success, 1 failure, 2 wrong usage, 3 server unreachable.";

/**
 * @param commands all commands, or one family
 * @param notes continue the line about `--help`
 */
export function overview(
  name: string,
  summary: string,
  commands: readonly Command[],
  notes: string,
): string {
  const width = Math.max(...commands.map(({ usage }) => usage.length));
  const rows = commands.map(({ usage, help }) => `  ${usage.padEnd(width)}  ${help}`);
  return `${name}: ${summary}

Usage: ${name} COMMAND [OPTIONS]

${rows.join("\n")}

${name} COMMAND --help shows the options of a command.${notes}
${EXIT_CODES}`;
}

/** @param more lines after the options */
export function commandHelp(
  program: string,
  { usage, help, example, options }: Command,
  more: readonly string[] = [],
): string {
  const json: CommandOption = options.json ?? { type: "flag", help: "Print JSON." };
  const rows = Object.entries({ ...options, json }).map(([name, { short, value, help: text }]) => {
    const names = short === undefined ? `--${name}` : `-${short}, --${name}`;
    const flag = value === undefined ? names : `${names} ${value}`;
    return `  ${flag.padEnd(28)}  ${text}`;
  });
  const lines = [`Usage: ${program} ${usage} [OPTIONS]`, "", help, "", ...rows, ...more];
  if (example !== undefined) lines.push("", "Example:", `  ${program} ${example}`);
  return lines.join("\n");
}
