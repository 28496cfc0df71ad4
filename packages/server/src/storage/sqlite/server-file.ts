/**
 * The file in a data folder that names the server that uses it. A killed server leaves its file, so
 * readers must check that the server answers.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface ServerFile {
  /** Process id. */
  readonly process: number;
  /** Where it listens. */
  readonly url: string;
  /** Where people reach its pages. */
  readonly publicUrl: string;
  /** Base URL of the contract for agents. */
  readonly contractUrl: string;
}

export function serverFile(dataDirectory: string): string {
  return join(dataDirectory, "server.json");
}

/** @returns undefined without a readable file; without addresses while the server starts */
export function readServerFile(dataDirectory: string): Partial<ServerFile> | undefined {
  try {
    const content: unknown = JSON.parse(readFileSync(serverFile(dataDirectory), "utf8"));
    return typeof content === "object" && content !== null ? content : undefined;
  } catch {
    return undefined;
  }
}
