/**
 * Copies a database, also while a server writes to it.
 */

import { closeSync, existsSync, fdatasyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { Failure } from "../../failure.ts";
import { syncFolder } from "../../sync-folder.ts";
import { removeDatabase } from "./open-database.ts";

/**
 * 2 MiB. The copy is synced after each step. A sync of 2 GB at the end would keep the disk busy for
 * half a second, and the commits of the server would wait.
 */
const PAGES_PER_STEP = 512;

/**
 * Writes one consistent snapshot, checks it from end to end, and only then gives it its name.
 *
 * @throws Failure when `target` exists, the disk is full or the copy is not sound. It then leaves
 * no file.
 */
export async function backupDatabase(source: string, target: string): Promise<void> {
  if (existsSync(target)) throw new Failure("backup", `${target} exists already`);
  const draft = `${target}.${process.pid}.part`;
  try {
    await copySnapshot(source, draft);
    finishCopy(draft);
    nameCopy(draft, target);
  } catch (error) {
    removeDatabase(draft);
    const reason = error instanceof Error ? error.message : String(error);
    throw new Failure("backup", `the backup failed: ${reason}`, error);
  }
}

async function copySnapshot(source: string, draft: string): Promise<void> {
  // Only the owner may read a backup, wherever it is.
  const descriptor = openSync(draft, "wx", 0o600);
  const progress = () => fdatasyncSync(descriptor);
  try {
    await copyInSteps(source, draft, progress);
  } finally {
    closeSync(descriptor);
  }
}

async function copyInSteps(source: string, draft: string, progress: () => void): Promise<void> {
  const database = new DatabaseSync(source, { timeout: 5_000 });
  try {
    // A single read transaction: writers go on, and the copy is of one moment.
    database.exec("begin; select count(*) from sqlite_schema");
    await backup(database, draft, { rate: PAGES_PER_STEP, progress });
  } finally {
    database.close();
  }
}

/**
 * Checks the copy, which has the damaged pages of its source. Switches it to a rollback journal, so
 * that it is one file. An exclusive lock needs no shared memory, which network file systems do not
 * have.
 */
function finishCopy(file: string): void {
  const database = new DatabaseSync(file);
  try {
    database.exec("pragma locking_mode = exclusive");
    const mode = database.prepare("pragma journal_mode = delete").get()?.journal_mode;
    if (mode !== "delete") throw new Error(`the copy has the journal mode ${mode}`);
    const verdict = String(database.prepare("pragma integrity_check(1)").get()?.integrity_check);
    if (verdict !== "ok") throw new Error(`the copy is damaged: ${verdict.split("\n").at(-1)}`);
  } finally {
    database.close();
  }
}

function nameCopy(draft: string, target: string): void {
  renameSync(draft, target);
  try {
    syncFolder(dirname(target));
  } catch (error) {
    // Otherwise the next backup would fail, because the target exists.
    rmSync(target, { force: true });
    throw error;
  }
}
