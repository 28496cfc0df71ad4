/**
 * Reads the arguments of one command by the table of its options.
 */

import { parseArgs } from "node:util";
import { usageError } from "./exit.ts";

export interface CommandOption {
  readonly type: "text" | "flag";
  /** Name of the value in `--help`. */
  readonly value?: string;
  readonly help: string;
}

/** Options of one command by their name on the command line. */
export type CommandOptions = Readonly<Record<string, CommandOption>>;

/** Every command has these. */
const COMMON: CommandOptions = {
  json: { type: "flag", help: "Print JSON." },
  help: { type: "flag", help: "Print this help." },
};

function unknownOption(option: string): string {
  return `there is no option ${option}; see --help`;
}

export class CommandLine {
  readonly positionals: readonly string[];
  readonly #values: Readonly<Record<string, string | boolean | undefined>>;

  /**
   * @param explainUnknown the error message for an option that is not in the table
   * @throws CommandError for an unknown option or a missing value
   */
  constructor(args: readonly string[], table: CommandOptions, explainUnknown = unknownOption) {
    const options: Record<string, { type: "string" | "boolean" }> = {};
    for (const [name, { type }] of Object.entries({ ...COMMON, ...table })) {
      options[name] = { type: type === "flag" ? "boolean" : "string" };
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
      const { message } = error as Error;
      const unknown = /^Unknown option '(-[^']*)'/.exec(message)?.[1];
      throw usageError(unknown === undefined ? message : explainUnknown(unknown));
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

  /**
   * @param names of all positional arguments, for the error message
   * @throws CommandError when one is missing or there are more
   */
  take(...names: readonly string[]): string[] {
    const { positionals } = this;
    const missing = names[positionals.length];
    if (missing !== undefined) throw usageError(`${missing} is missing`);
    const extra = positionals[names.length];
    if (extra !== undefined) throw usageError(`unexpected argument ${JSON.stringify(extra)}`);
    return [...positionals];
  }
}
