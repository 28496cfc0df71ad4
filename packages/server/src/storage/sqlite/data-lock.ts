/**
 * Keeps a second server away from a data folder. The lock is an exclusive transaction on a file
 * of its own: the operating system ends it with the process, also after `kill -9`, so there is
 * no stale lock to clean up.
 */

import { closeSync, openSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Failure } from "../../failure.ts";
import { readServerFile, type ServerFile, serverFile } from "./server-file.ts";

export interface DataLock {
  /** Publishes the server's addresses to commands on the same data folder. */
  publish(addresses: Omit<ServerFile, "process">): void;
  release(): void;
}

/** Another server holds the lock. */
export class DataInUse extends Failure {
  /** Undefined where the server could not write its file. */
  readonly holder: Partial<ServerFile> | undefined;

  constructor(directory: string, holder: Partial<ServerFile> | undefined) {
    const { process, url } = holder ?? {};
    const known = [process && `process ${process}`, url].filter((part) => part !== undefined);
    const about = known.length === 0 ? "" : ` (${known.join(", ")})`;
    super("store", `another server is running on ${directory}${about}`);
    this.holder = holder;
  }
}

/** @throws Failure when another server holds the lock, or it cannot be taken */
export function lockDataDirectory(directory: string): DataLock {
  const holderFile = serverFile(directory);
  const lockFile = join(directory, "server.lock");
  // Made here, because SQLite would make it readable for others.
  closeSync(openSync(lockFile, "a", 0o600));
  const lock = new DatabaseSync(lockFile);
  try {
    lock.exec("pragma journal_mode = memory; begin exclusive");
  } catch (error) {
    lock.close();
    if (!isBusy(error)) throw new Failure("store", `${lockFile} cannot be locked`, error);
    throw new DataInUse(directory, readServerFile(directory));
  }
  const write = (addresses: Omit<ServerFile, "process"> | undefined) => {
    const content = JSON.stringify({ process: process.pid, ...addresses });
    writeFileSync(holderFile, `${content}\n`, { mode: 0o600 });
  };
  write(undefined);
  return {
    publish: write,
    release: () => {
      removeHolder(holderFile);
      lock.close();
    },
  };
}

/** SQLITE_BUSY: another process holds it. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && (Number(error.errcode) & 0xff) === 5;
}

/** On a disk that has become read-only the file stays; it is a hint only. */
function removeHolder(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {}
}
