/**
 * Opens a database file with the settings that the promises rest on.
 */

import { existsSync, linkSync, rmSync, statSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { Failure } from "../../failure.ts";

/**
 * `synchronous = full` makes WAL sync before a commit is answered (acknowledged writes survive
 * a power cut); without it WAL is only safe against a crash of the process.
 */
const SETTINGS = `
  pragma journal_mode = wal;
  pragma synchronous = full;
  pragma foreign_keys = on;
  pragma trusted_schema = off;
  pragma secure_delete = on;
  pragma temp_store = memory;
  pragma cache_size = -32768;
  pragma wal_autocheckpoint = 16000;
  pragma journal_size_limit = 67108864;
`;

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
    for (const part of ["", "-wal", "-shm"]) rmSync(draft + part, { force: true });
  }
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

/**
 * @param busyMs how long a statement may wait, and hold this thread, for another process
 * @throws Failure when the file is no database, damaged or out of reach
 */
export function openDatabase(file: string, busyMs = PATIENCE_MS): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { timeout: PATIENCE_MS });
    database.exec(SETTINGS);
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

/** Where there is room for the database and nobody else reads; it holds for the whole process. */
export function keepTemporaryFilesIn(database: DatabaseSync, folder: string): void {
  database.exec(`pragma temp_store_directory = '${folder.replaceAll("'", "''")}'`);
}
