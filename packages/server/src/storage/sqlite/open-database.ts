/**
 * Opens a database file with the settings that the promises rest on.
 */

import { existsSync, linkSync, rmSync, statSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { Failure } from "../../failure.ts";

/**
 * A longer write-ahead log is copied into the database (a checkpoint), which takes 3 ms of the
 * event loop. With eight times this length it took 10 ms. A much shorter log would copy pages that
 * change often more times. SQLite truncates the file to this length when the log starts anew, so
 * that the size of the file shows when a checkpoint is due.
 */
export const LOG_BYTES_MAX = 8 * 1024 * 1024;

const SETTINGS = `
  pragma journal_mode = wal;
  pragma foreign_keys = on;
  pragma trusted_schema = off;
  pragma secure_delete = on;
  pragma temp_store = memory;
  pragma cache_size = -32768;
  pragma journal_size_limit = ${LOG_BYTES_MAX};
`;

/**
 * Settings with which a commit survives a loss of power, by the component that syncs the
 * write-ahead log and copies it into the database.
 */
const SYNC_SETTINGS = {
  /** SQLite syncs the log within each commit, and copies it after so many pages of 4 KiB. */
  sqlite: `pragma synchronous = full; pragma wal_autocheckpoint = ${LOG_BYTES_MAX / 4096}`,
  /**
   * `WriteAheadLog` syncs after each commit, in another thread, and the store answers only then.
   * It also starts the checkpoints; before one, SQLite still syncs the log.
   */
  writeAheadLog: "pragma synchronous = normal; pragma wal_autocheckpoint = 0",
};

export interface OpenOptions {
  /** How long a statement may wait, and block this thread, for another process. */
  readonly busyMs?: number | undefined;
  readonly syncedBy?: keyof typeof SYNC_SETTINGS;
}

/** Up to this size a whole check costs a start no noticeable time. */
const CHECKED_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Makes the database if there is none. It is made under another name and linked when it is one:
 * a file of this name is never empty, unless it has lost what it held.
 */
export function ensureDatabase(file: string): void {
  if (existsSync(file)) return;
  const draft = `${file}.${process.pid}`;
  try {
    // For its owner only, as are the files that SQLite puts beside it.
    writeFileSync(draft, "", { mode: 0o600, flag: "wx" });
    openDatabase(draft).close();
    linkSync(draft, file);
  } catch (error) {
    // Another process was faster.
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  } finally {
    removeDatabase(draft);
  }
}

/** Also removes the files that SQLite puts beside a database. */
export function removeDatabase(file: string): void {
  for (const suffix of ["", "-journal", "-wal", "-shm"]) rmSync(file + suffix, { force: true });
}

/** @throws Failure when the file is damaged; larger files are checked by `countersign backup` */
export function assertSound(file: string): void {
  const { size } = statSync(file);
  if (size === 0) throw damaged(file, "it is empty");
  if (size > CHECKED_BYTES_MAX) return;
  const database = openDatabase(file);
  try {
    const verdict = database.prepare("pragma quick_check(1)").get()?.quick_check;
    if (verdict !== "ok") throw new Error(String(verdict).split("\n").at(-1));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw damaged(file, reason, error);
  } finally {
    database.close();
  }
}

function damaged(file: string, reason: string, cause?: unknown): Failure {
  return new Failure("store", `the database ${file} is damaged: ${reason}`, cause);
}

/** How long a command waits for the process that is writing. */
const PATIENCE_MS = 5_000;

/** @throws Failure when the file is not a database, is damaged or cannot be reached */
export function openDatabase(
  file: string,
  { busyMs = PATIENCE_MS, syncedBy = "sqlite" }: OpenOptions = {},
): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { timeout: PATIENCE_MS });
    database.exec(SETTINGS);
    database.exec(SYNC_SETTINGS[syncedBy]);
    database.exec(`pragma busy_timeout = ${busyMs}`);
    // Reads the schema, which opening alone does not.
    database.prepare("select count(*) from sqlite_schema").get();
    return database;
  } catch (error) {
    database?.close();
    const reason = error instanceof Error ? error.message : String(error);
    throw new Failure("store", `the database ${file} cannot be opened: ${reason}`, error);
  }
}

/** A private folder with room for the database; applies to the whole process. */
export function setTemporaryFolder(database: DatabaseSync, folder: string): void {
  database.exec(`pragma temp_store_directory = '${folder.replaceAll("'", "''")}'`);
}
