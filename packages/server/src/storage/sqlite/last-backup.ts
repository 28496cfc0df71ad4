/**
 * The time of the last complete backup, for the metrics of the server. The command `backup` runs
 * in another process, so it leaves an empty file in the data folder. Its modification time is the
 * time.
 */

import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../../failure.ts";

function recordFile(dataDirectory: string): string {
  return join(dataDirectory, "last-backup");
}

/** @throws Failure when the data folder cannot be written */
export function recordBackup(dataDirectory: string): void {
  try {
    writeFileSync(recordFile(dataDirectory), "", { mode: 0o600 });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `the backup is complete, but its time cannot be recorded: ${reason}`;
    throw new Failure("backup", message, error);
  }
}

/** @returns epoch ms; undefined when there was no backup, or its file cannot be read */
export function readLastBackup(dataDirectory: string): number | undefined {
  try {
    return statSync(recordFile(dataDirectory)).mtimeMs;
  } catch {
    return undefined;
  }
}
