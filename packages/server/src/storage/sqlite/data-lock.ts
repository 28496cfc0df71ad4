/**
 * Keeps a second server away from a data folder. The lock is an exclusive transaction on a file
 * of its own: the operating system ends it with the process, also after `kill -9`, so there is
 * no stale lock to clean up.
 */

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Failure } from "../../failure.ts";

/**
 * @returns releases the lock
 * @throws Failure when another server holds it
 */
export function lockDataDirectory(directory: string): () => void {
  const holderFile = join(directory, "server.pid");
  const lock = new DatabaseSync(join(directory, "server.lock"));
  try {
    lock.exec("pragma journal_mode = memory; begin exclusive");
  } catch (error) {
    lock.close();
    const holder = readHolder(holderFile);
    throw new Failure("store", `another server is running on ${directory}${holder}`, error);
  }
  writeFileSync(holderFile, `${process.pid}\n`);
  return () => {
    rmSync(holderFile, { force: true });
    lock.close();
  };
}

function readHolder(file: string): string {
  try {
    return ` (process ${readFileSync(file, "utf8").trim()})`;
  } catch {
    return "";
  }
}
