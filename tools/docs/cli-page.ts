/** Writes docs/reference/cli.md from the tables of the commands. */

import type { Command } from "@countersign/command-line";
import type { Command as SettingsCommand } from "../../packages/cli/src/command.ts";
import { COMMANDS } from "../../packages/cli/src/main.ts";
import { GROUP_TITLES } from "../../packages/server/src/config/config-reference.ts";
import { ALL_OPTIONS, flagName, type Option } from "../../packages/server/src/config/options.ts";

const INTRODUCTION = `# Command line

<!-- Made by \`npm run docs\` from the tables of the commands. -->

This page lists every command of \`countersign\` with its options and one example. \`countersign
COMMAND --help\` prints the same text. Square brackets contain the default of an option.

In a clone of the repository, write \`npx --no -- countersign\` instead of \`countersign\`.

Every command accepts \`--json\`, which prints JSON, and \`--help\`.

| Exit code | Meaning |
| --- | --- |
| 0 | The command succeeded. |
| 1 | The command failed, the server rejected it, or a check found a fault. |
| 2 | The usage is wrong, such as an unknown option. |
| 3 | The command cannot reach the server. |
| 4 | \`plan\` found differences. |

Some commands also accept settings. A setting comes from the command line, an environment variable,
or the file that \`--config\` names. Secrets come only from the environment or the file.
[Configuration](config.md) describes every setting.`;

/** More settings than these are not repeated for each command. */
const SETTINGS_SHOWN_MAX = 6;

/** The whole page. */
export async function cliPage(): Promise<string> {
  const commands = await Promise.all(
    Object.entries(COMMANDS).map(async ([name, load]) => [name, await load()] as const),
  );
  const families = Map.groupBy(commands, ([name]) => name.split(" ")[0] ?? name);
  const sections = [...families]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([family, rows]) => {
      const parts = rows.map(([, command]) => commandSection(command));
      return [`## ${family}`, ...parts].join("\n\n");
    });
  return `${[INTRODUCTION, ...sections].join("\n\n")}\n`;
}

function commandSection(command: Command | SettingsCommand): string {
  const { usage, help, example, options } = command;
  const rows = Object.entries(options)
    .filter(([name]) => name !== "help")
    .map(([name, { value, help: meaning }]) => row(`--${name}`, value, meaning));
  const settings = "settings" in command ? settingsOf(command) : [];
  const shown = settings.length > SETTINGS_SHOWN_MAX ? [] : settings;
  rows.push(...shown.map(({ name, value, help: meaning }) => row(flagName(name), value, meaning)));
  const parts = [`### countersign ${escaped(usage)}`, escaped(help)];
  if (rows.length > 0) parts.push(["| Option | Meaning |", "| --- | --- |", ...rows].join("\n"));
  if (shown.length < settings.length && "settings" in command) {
    const groups = command.settings.map((group) => `[${GROUP_TITLES[group]}](${linkOf(group)})`);
    parts.push(`This command also accepts \`--config\` and the settings of ${groups.join(", ")}.`);
  }
  if (example !== undefined) parts.push(`\`\`\`\ncountersign ${example}\n\`\`\``);
  return parts.join("\n\n");
}

function linkOf(group: Option["group"]): string {
  return `config.md#${GROUP_TITLES[group].toLowerCase().replaceAll(" ", "-")}`;
}

/** The settings that a command takes as options. */
export function settingsOf({ settings, options }: SettingsCommand): Option[] {
  return ALL_OPTIONS.filter(({ name, group, secret }) => {
    if (secret === true || Object.hasOwn(options, name)) return false;
    return settings.includes(group) || name === "config";
  });
}

function row(flag: string, value: string | undefined, meaning: string): string {
  const usage = value === undefined ? flag : `${flag} ${value}`;
  return `| \`${usage}\` | ${escaped(meaning).replaceAll("|", "\\|")} |`;
}

function escaped(text: string): string {
  return text.replaceAll("<", "&lt;");
}
