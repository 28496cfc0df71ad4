/**
 * The arguments of a command that takes settings: its own options and those of the table of
 * settings.
 */

import { CommandLine, type CommandOption, type CommandOptions } from "@countersign/command-line";
import {
  ALL_OPTIONS,
  environmentName,
  fileVariable,
  flagName,
  type Option,
} from "@countersign/server/config/options";
import { type Flags, readConfig } from "@countersign/server/config/read-config";

type Groups = readonly Option["group"][];

/** The settings of these groups. Every command takes `config`, unless it has its own option. */
function settingsIn(groups: Groups, own: CommandOptions): Option[] {
  return ALL_OPTIONS.filter(({ name, group }) => {
    return groups.includes(group) || (name === "config" && !Object.hasOwn(own, "config"));
  });
}

export class SettingsLine extends CommandLine {
  /** @throws CommandError for an unknown option or a missing value */
  constructor(args: readonly string[], own: CommandOptions, groups: Groups) {
    const flags = settingsIn(groups, own).filter(({ secret }) => secret !== true);
    const settings = flags.map(({ name, type }): [string, CommandOption] => {
      return [flagName(name).slice(2), { type: type === "flag" ? "flag" : "text", help: "" }];
    });
    super(args, { ...own, ...Object.fromEntries(settings) }, explainSecret);
  }

  /** The settings of the environment and the config file, with those of this command line. */
  config(): ReturnType<typeof readConfig> {
    const flags: Record<string, string | boolean> = {};
    for (const { name, type } of ALL_OPTIONS) {
      const flag = flagName(name).slice(2);
      const value = type === "flag" ? this.flag(flag) || undefined : this.text(flag);
      if (value !== undefined) flags[name] = value;
    }
    return readConfig(flags satisfies Flags);
  }
}

function explainSecret(option: string): string | undefined {
  const secret = ALL_OPTIONS.find(
    ({ name, secret }) => secret === true && flagName(name) === option,
  );
  if (secret === undefined) return undefined;
  const variables = `${environmentName(secret.name)} or ${fileVariable(secret.name)}`;
  const reason = `${option} is not accepted here, where other users can read it`;
  return `${reason}; set ${variables}`;
}

/** Lines of `--help` about the settings of a command. */
export function settingsHelp(groups: Groups, own: CommandOptions): string[] {
  const lines = settingsIn(groups, own).flatMap(settingLines);
  return ["", "Settings, on the command line or in the environment:", ...lines];
}

function settingLines({ name, value, secret, help, default: fallback }: Option): string[] {
  const variable = environmentName(name);
  const flag = value === undefined ? flagName(name) : `${flagName(name)} ${value}`;
  const syntax = secret === true ? `${variable}=${value}` : `${flag}, ${variable}`;
  return [`  ${syntax}`, `      ${help}${fallback ? ` [${fallback}]` : ""}`];
}
