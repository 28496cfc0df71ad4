/**
 * Keeps a second server away from a data folder. The lock is an exclusive transaction on a file
 * of its own: the operating system ends it with the process, also after `kill -9`, so there is
 * no stale lock to clean up.
 */

import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Failure } from "../../failure.ts";

/**
 * @returns releases the lock
 * @throws Failure when another server holds it, or it cannot be taken
 */
export function lockDataDirectory(directory: string): () => void {
  const holderFile = join(directory, "server.pid");
  const lockFile = join(directory, "server.lock");
  // Made here, because SQLite would make it readable for others.
  closeSync(openSync(lockFile, "a", 0o600));
  const lock = new DatabaseSync(lockFile);
  try {
    lock.exec("pragma journal_mode = memory; begin exclusive");
  } catch (error) {
    lock.close();
    if (!isBusy(error)) throw new Failure("store", `${lockFile} cannot be locked`, error);
    const holder = readHolder(holderFile);
    throw new Failure("store", `another server is running on ${directory}${holder}`);
  }
  writeFileSync(holderFile, `${process.pid}\n`, { mode: 0o600 });
  return () => {
    forgetHolder(holderFile);
    lock.close();
  };
}

/** SQLITE_BUSY: another process holds it. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && (Number(error.errcode) & 0xff) === 5;
}

/** It is a hint for whom the lock refuses; on a disk that has become read-only it stays there. */
function forgetHolder(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {}
}

function readHolder(file: string): string {
  try {
    return ` (process ${readFileSync(file, "utf8").trim()})`;
  } catch {
    return "";
  }
}
