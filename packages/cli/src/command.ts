import type { Option } from "@countersign/server/config/options";
import type { CommandLine, OwnOptions } from "./command-line.ts";
import type { ExitCode } from "./exit.ts";
import type { Terminal } from "./terminal.ts";

export interface Command {
  /** Behind `countersign`, like `tokens create KIND`. */
  readonly usage: string;
  readonly help: string;
  readonly options: OwnOptions;
  /** Groups of settings that this command takes. */
  readonly settings: readonly Option["group"][];
  run(line: CommandLine, terminal: Terminal): Promise<ExitCode>;
}
