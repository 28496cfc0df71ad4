/** The command `countersign-conformance`. */

import { type ExitCode, readVersion, runCommand } from "@countersign/command-line";
import { conformance } from "./command/command.ts";

export function main(args: readonly string[]): Promise<ExitCode> {
  const version = readVersion(new URL("../package.json", import.meta.url));
  return runCommand({ name: "countersign-conformance", version }, conformance, args);
}
