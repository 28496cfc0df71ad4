/** A command of a program: its usage, help and options, and the function that runs it. */

import type { CommandLine, CommandOptions } from "./command-line.ts";
import type { ExitCode } from "./exit.ts";
import type { Terminal } from "./terminal.ts";

export interface Command {
  /** Follows the name of the program, such as `tokens create KIND`. */
  readonly usage: string;
  readonly help: string;
  /** Arguments of one complete call, after the name of the program. */
  readonly example?: string;
  readonly options: CommandOptions;
  /** @param program the name of the program, for commands that the output recommends */
  run(line: CommandLine, terminal: Terminal, program: string): Promise<ExitCode>;
}
