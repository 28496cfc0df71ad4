/** The command `countersign-mcp-gateway`. */

import { type ExitCode, runCommand } from "@countersign/command-line";
import { mcpGateway } from "./command.ts";
import { VERSION } from "./version.ts";

export function main(args: readonly string[]): Promise<ExitCode> {
  return runCommand({ name: "countersign-mcp-gateway", version: VERSION }, mcpGateway, args);
}
