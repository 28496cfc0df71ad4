/**
 * What `--help` prints, from the same tables that parse.
 */

import { environmentName, flagName, type Option } from "@countersign/server/config/options";
import type { Command } from "./command.ts";
import { settingsIn } from "./command-line.ts";

/** @param commands all of them, or one family */
export function overview(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ usage }) => usage.length));
  const rows = commands.map(({ usage, help }) => `  ${usage.padEnd(width)}  ${help}`);
  return `countersign: the approval provider for AI agents' tool calls

Usage: countersign COMMAND [OPTIONS]

${rows.join("\n")}

countersign COMMAND --help shows the options of a command. Every setting can also be an
environment variable (--port is COUNTERSIGN_PORT) or stand in a YAML file (--config FILE).
Exit codes: 0 done, 1 refused, 2 wrong usage, 3 the server cannot be reached.`;
}

export function commandHelp({ usage, help, options, settings }: Command): string {
  const own = Object.entries({
    ...options,
    json: options.json ?? { value: undefined, help: "Print JSON." },
  }).map(([name, { value, help: text }]) => {
    const flag = value === undefined ? `--${name}` : `--${name} ${value}`;
    return `  ${flag.padEnd(28)}  ${text}`;
  });
  const given = settingsIn(settings, options).flatMap(settingLines);
  const head =
    given.length === 0 ? [] : ["", "Settings, on the command line or in the environment:"];
  return [`Usage: countersign ${usage} [OPTIONS]`, "", help, "", ...own, ...head, ...given].join(
    "\n",
  );
}

/** How a setting is given, and below it what it means. */
function settingLines({ name, value, secret, help, default: fallback }: Option): string[] {
  const variable = environmentName(name);
  const flag = value === undefined ? flagName(name) : `${flagName(name)} ${value}`;
  const given = secret === true ? `${variable}=${value}` : `${flag}, ${variable}`;
  return [`  ${given}`, `      ${help}${fallback ? ` [${fallback}]` : ""}`];
}
