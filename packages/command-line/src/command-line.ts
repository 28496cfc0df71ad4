/**
 * Reads the arguments of one command by the table of its options.
 */

import { parseArgs } from "node:util";
import { ArgumentError, usageError } from "./exit.ts";

export interface CommandOption {
  readonly type: "text" | "flag";
  /** One letter: `f` permits `-f`. */
  readonly short?: string;
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

/** @param message of Node, with its own quotes */
function toArgumentError(message: string): ArgumentError {
  const [, option] = /^Option '(--?[^' ]+)/.exec(message) ?? [];
  if (option === undefined) return new ArgumentError(message);
  if (message.includes("does not take")) return new ArgumentError(`${option} takes no value`);
  const dash = message.includes("ambiguous") ? `, such as ${option}=VALUE` : "";
  return new ArgumentError(`${option} needs a value${dash}`);
}

export class CommandLine {
  readonly positionals: readonly string[];
  readonly #values: Readonly<Record<string, string | boolean | undefined>>;

  /**
   * @param explainOption an own error message for an option that is not in the table
   * @throws CommandError for an unknown option or a missing value
   */
  constructor(
    args: readonly string[],
    table: CommandOptions,
    explainOption: (option: string) => string | undefined = () => undefined,
  ) {
    const options: Record<string, { type: "string" | "boolean"; short?: string }> = {};
    for (const [name, { type, short }] of Object.entries({ ...COMMON, ...table })) {
      const own = { type: type === "flag" ? ("boolean" as const) : ("string" as const) };
      options[name] = short === undefined ? own : { ...own, short };
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
      if (unknown === undefined) throw toArgumentError(message);
      const text = explainOption(unknown);
      throw text === undefined
        ? new ArgumentError(`there is no option ${unknown}`)
        : usageError(text);
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
    if (missing !== undefined) throw new ArgumentError(`${missing} is missing`);
    const extra = positionals[names.length];
    if (extra !== undefined)
      throw new ArgumentError(`unexpected argument ${JSON.stringify(extra)}`);
    return [...positionals];
  }
}
