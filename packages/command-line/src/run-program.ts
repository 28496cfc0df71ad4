/**
 * Runs a program: finds the command, reads its options, and turns every error into one clear
 * message and an exit code.
 */

import { readFileSync } from "node:fs";
import { Problem, visibleText } from "@countersign/protocol";
import type { Command } from "./command.ts";
import { CommandLine } from "./command-line.ts";
import { ArgumentError, CommandError, EXIT, type ExitCode, usageError } from "./exit.ts";
import { commandHelp, overview } from "./help.ts";
import { processTerminal, type Terminal } from "./terminal.ts";

export interface Program<C extends Command = Command> {
  /** As the user starts it. */
  readonly name: string;
  readonly version: string;
  readonly summary: string;
  /** Each loads when it is called. A name of two words belongs to a family. */
  readonly commands: Readonly<Record<string, () => Promise<C>>>;
  /** Other spellings of the first words of commands. Help does not list them. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** Runs when the arguments name no command: when there are none, or the first is an option. */
  readonly fallback?: string;
  /** Follows the line about `--help` in the overview. */
  readonly notes?: string;
  /** How a command reads its arguments. Default: by its own options. */
  readonly read?: (command: C, args: readonly string[]) => CommandLine;
  /** Lines after the options of a command in its help. */
  readonly moreHelp?: (command: C) => readonly string[];
  /** @returns undefined for errors that need no translation of this program */
  readonly explain?: (error: unknown) => CommandError | undefined;
}

/** @param manifest the package.json of the program */
export function readVersion(manifest: URL): string {
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version;
}

/** Runs a program with several commands. */
export function runProgram<C extends Command>(
  program: Program<C>,
  args: readonly string[],
  terminal = processTerminal,
): Promise<ExitCode> {
  const { name, explain } = program;
  return reportErrors(name, args, terminal, explain, () => dispatch(program, args, terminal));
}

/** Runs a program with one command. */
export function runCommand(
  program: Pick<Program, "name" | "version">,
  command: Command,
  args: readonly string[],
  terminal = processTerminal,
): Promise<ExitCode> {
  const { name, version } = program;
  return reportErrors(name, args, terminal, undefined, async () => {
    const own = ownWords(args);
    if (own.some(isHelp) || own.includes("--version")) {
      terminal.out(own.some(isHelp) ? commandHelp(name, command) : version);
      return EXIT.done;
    }
    return withHelp(name, () => {
      return command.run(new CommandLine(args, command.options), terminal, name);
    });
  });
}

/**
 * Adds the help to errors about the arguments.
 *
 * @param command the program and the command, as the user types them
 */
async function withHelp<T>(command: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error;
    throw usageError(`${error.message}; see ${command} --help`);
  }
}

async function reportErrors(
  name: string,
  args: readonly string[],
  terminal: Terminal,
  explain: Program["explain"],
  run: () => Promise<ExitCode>,
): Promise<ExitCode> {
  try {
    return await run();
  } catch (error) {
    const { code, message, findings, exitCode } = explain?.(error) ?? toCommandError(error);
    terminal.note(
      ownWords(args).includes("--json")
        ? JSON.stringify({ error: { code, message, findings } })
        : message
            .split("\n")
            .map((line) => `${name}: ${visibleText(line)}`)
            .join("\n"),
    );
    return exitCode;
  }
}

function toCommandError(error: unknown): CommandError {
  if (error instanceof CommandError) return error;
  if (error instanceof Problem) return new CommandError(EXIT.refused, error.code, error.message);
  if (error instanceof Error && "code" in error) {
    return new CommandError(EXIT.refused, String(error.code), error.message);
  }
  throw error;
}

/** The arguments with the name of a command as the table spells it. */
function normalize(
  { aliases = {}, fallback }: Pick<Program, "aliases" | "fallback">,
  args: readonly string[],
): string[] {
  const [first, ...rest] = args;
  if (first === undefined || isOption(first)) {
    return fallback === undefined ? [...args] : [fallback, ...args];
  }
  const replace = (name: string) => (Object.hasOwn(aliases, name) ? aliases[name] : undefined);
  const family = replace(first) ?? first;
  const [second, ...others] = rest;
  const command = replace(`${family} ${second}`)?.split(" ");
  return command === undefined ? [family, ...rest] : [...command, ...others];
}

function isOption(word: string): boolean {
  return word.startsWith("-") && !isHelp(word) && word !== "--version";
}

async function dispatch<C extends Command>(
  program: Program<C>,
  given: readonly string[],
  terminal: Terminal,
): Promise<ExitCode> {
  const { name: own, commands, summary, notes = "" } = program;
  const args = normalize(program, given);
  const [first = "--help", second = ""] = args;
  if (isHelp(first) || first === "help") {
    terminal.out(overview(own, summary, await family(commands, ""), notes));
    return EXIT.done;
  }
  if (first === "--version") {
    terminal.out(program.version);
    return EXIT.done;
  }
  const name = Object.hasOwn(commands, first) ? first : `${first} ${second}`;
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (load === undefined) {
    const members = isHelp(second) ? await family(commands, `${first} `) : [];
    if (members.length === 0) throw unknownCommand(program, first, second);
    terminal.out(overview(own, summary, members, notes));
    return EXIT.done;
  }
  const command = await load();
  const rest = args.slice(name.split(" ").length);
  if (ownWords(rest).some(isHelp)) {
    terminal.out(commandHelp(own, command, program.moreHelp?.(command)));
    return EXIT.done;
  }
  return withHelp(`${own} ${name}`, () => {
    const line = program.read?.(command, rest) ?? new CommandLine(rest, command.options);
    return command.run(line, terminal, own);
  });
}

function isHelp(word: string): boolean {
  return word === "--help" || word === "-h";
}

/** Without the words after `--`, which are for another program. */
function ownWords(args: readonly string[]): readonly string[] {
  const end = args.indexOf("--");
  return end < 0 ? args : args.slice(0, end);
}

/** The commands with names that start with `prefix`. */
function family<C extends Command>(commands: Program<C>["commands"], prefix: string): Promise<C[]> {
  const entries = Object.entries(commands).filter(([name]) => name.startsWith(prefix));
  return Promise.all(entries.map(([, load]) => load()));
}

function unknownCommand(
  { name, commands }: Pick<Program, "name" | "commands">,
  first: string,
  second: string,
): CommandError {
  const names = Object.keys(commands).filter((known) => known.startsWith(`${first} `));
  if (names.length === 0) {
    return usageError(`there is no command ${JSON.stringify(first)}; see ${name} --help`);
  }
  const known = names.map((each) => each.split(" ")[1]).join(", ");
  const given = second === "" || second.startsWith("-") ? "" : `, not ${JSON.stringify(second)}`;
  return usageError(`${first} takes one of ${known}${given}`);
}
