/**
 * Reads a command's arguments: its own options and the settings it takes, by the one table of
 * settings.
 */

import { parseArgs } from "node:util";
import {
  ALL_OPTIONS,
  environmentName,
  flagName,
  type Option,
} from "@countersign/server/config/options";
import { type Flags, readConfig } from "@countersign/server/config/read-config";
import { usageError } from "./exit.ts";

export interface OwnOption {
  readonly type: "text" | "flag";
  /** What the value is called in `--help`. */
  readonly value?: string;
  readonly help: string;
}

/** Options of one command by their name on the command line. */
export type OwnOptions = Readonly<Record<string, OwnOption>>;

/** `--json` and `--help` are everybody's. */
const COMMON: OwnOptions = {
  json: { type: "flag", help: "Print JSON." },
  help: { type: "flag", help: "Print this help." },
};

/** The settings of these groups; the config file is everybody's who has none of another kind. */
export function settingsIn(groups: readonly Option["group"][], own: OwnOptions): Option[] {
  return ALL_OPTIONS.filter(({ name, group }) => {
    return groups.includes(group) || (name === "config" && !Object.hasOwn(own, "config"));
  });
}

export class CommandLine {
  readonly positionals: readonly string[];
  readonly #values: Readonly<Record<string, string | boolean | undefined>>;

  /** @throws CommandError when an option is unknown or lacks its value */
  constructor(args: readonly string[], own: OwnOptions, groups: readonly Option["group"][]) {
    const options: Record<string, { type: "string" | "boolean" }> = {};
    for (const [name, { type }] of Object.entries({ ...COMMON, ...own })) {
      options[name] = { type: type === "flag" ? "boolean" : "string" };
    }
    for (const { name, type, secret } of settingsIn(groups, own)) {
      if (secret === true) continue;
      options[flagName(name).slice(2)] = { type: type === "flag" ? "boolean" : "string" };
    }
    try {
      const { values, positionals } = parseArgs({
        args: [...args],
        options,
        allowPositionals: true,
      });
      this.#values = values as Record<string, string | boolean | undefined>;
      this.positionals = positionals;
    } catch (error) {
      throw usageError(explain(error));
    }
  }

  text(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === "string" ? value : undefined;
  }

  flag(name: string): boolean {
    return this.#values[name] === true;
  }

  get json(): boolean {
    return this.flag("json");
  }

  /** The settings, with what this command line says about them. */
  config(): ReturnType<typeof readConfig> {
    const flags: Record<string, string | boolean> = {};
    for (const { name } of ALL_OPTIONS) {
      const value = this.#values[flagName(name).slice(2)];
      if (value !== undefined) flags[name] = value;
    }
    return readConfig(flags satisfies Flags);
  }

  /** Exactly these positional arguments, named for the message. */
  take(...names: readonly string[]): string[] {
    const { positionals } = this;
    const missing = names[positionals.length];
    if (missing !== undefined) throw usageError(`${missing} is missing`);
    const extra = positionals[names.length];
    if (extra !== undefined) throw usageError(`${JSON.stringify(extra)} is one argument too many`);
    return [...positionals];
  }
}

/** What Node's parser says, in the words of a person who mistyped an option. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const unknown = /^Unknown option '(-[^']*)'/.exec(error.message)?.[1];
  if (unknown === undefined) return error.message;
  const secret = ALL_OPTIONS.find(
    ({ name, secret }) => secret === true && flagName(name) === unknown,
  );
  if (secret === undefined) return `there is no option ${unknown}; see --help`;
  const variable = environmentName(secret.name);
  return `${unknown} is not taken here, where other users can read it; set ${variable}`;
}
