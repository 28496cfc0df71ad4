import type { ExitCode, Command as PlainCommand, Terminal } from "@countersign/command-line";
import type { Option } from "@countersign/server/config/options";
import type { SettingsLine } from "./settings-line.ts";

/** A command that also takes settings of the server or of its clients. */
export interface Command extends PlainCommand {
  /** Groups of settings that this command takes. */
  readonly settings: readonly Option["group"][];
  run(line: SettingsLine, terminal: Terminal): Promise<ExitCode>;
}
