/** The command `countersign-agent-hooks`. */

import { type ExitCode, readVersion, runProgram } from "@countersign/command-line";
import { COMMANDS } from "./commands/index.ts";

export function main(args: readonly string[]): Promise<ExitCode> {
  const program = {
    name: "countersign-agent-hooks",
    version: readVersion(new URL("../package.json", import.meta.url)),
    summary: "approval hooks for coding agents",
    commands: COMMANDS,
  };
  return runProgram(program, args);
}
