/** Arguments, help, errors and exit codes of Countersign's commands. */

export { type FixedColumn, renderColumns, renderTableOf } from "./columns.ts";
export type { Command } from "./command.ts";
export { CommandLine, type CommandOption, type CommandOptions } from "./command-line.ts";
export { CommandError, EXIT, type ExitCode, usageError } from "./exit.ts";
export { commandHelp } from "./help.ts";
export { type Program, readVersion, runCommand, runProgram } from "./run-program.ts";
export { processTerminal, type Terminal } from "./terminal.ts";
export { typedCommand } from "./typed-command.ts";
