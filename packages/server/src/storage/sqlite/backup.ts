/**
 * Copies a database, also while a server writes to it.
 */

import {
  closeSync,
  existsSync,
  fdatasyncSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { backup, DatabaseSync } from "node:sqlite";
import { Failure } from "../../failure.ts";

/**
 * 2 MiB. The copy is synced after each step. A sync of 2 GB at the end would keep the disk busy for
 * half a second, and the commits of the server would wait.
 */
const PAGES_PER_STEP = 512;

/**
 * Writes one consistent snapshot, checks it from end to end, and only then gives it its name.
 *
 * @throws Failure when `target` exists, the disk is full or the copy is not sound
 */
export async function backupDatabase(source: string, target: string): Promise<void> {
  if (existsSync(target)) throw new Failure("backup", `${target} exists already`);
  const draft = `${target}.${process.pid}.part`;
  try {
    // Only the owner may read a backup, wherever it is.
    writeFileSync(draft, "", { mode: 0o600, flag: "wx" });
    await copySnapshot(source, draft);
    assertSound(draft);
    renameSync(draft, target);
  } catch (error) {
    rmSync(draft, { force: true });
    const reason = error instanceof Error ? error.message : String(error);
    throw new Failure("backup", `the backup failed: ${reason}`, error);
  }
}

async function copySnapshot(source: string, draft: string): Promise<void> {
  const database = new DatabaseSync(source, { timeout: 5_000 });
  const descriptor = openSync(draft, "r+");
  try {
    // A single read transaction: writers go on, and the copy is of one moment.
    database.exec("begin; select count(*) from sqlite_schema");
    const progress = () => fdatasyncSync(descriptor);
    await backup(database, draft, { rate: PAGES_PER_STEP, progress });
  } finally {
    closeSync(descriptor);
    database.close();
  }
}

/**
 * A copy has the damaged pages of its source. Also leaves the mode with a write-ahead log, so that
 * the copy is one file.
 */
function assertSound(file: string): void {
  const database = new DatabaseSync(file);
  try {
    database.exec("pragma journal_mode = delete");
    const verdict = String(database.prepare("pragma integrity_check(1)").get()?.integrity_check);
    if (verdict !== "ok") throw new Error(`the copy is damaged: ${verdict.split("\n").at(-1)}`);
  } finally {
    database.close();
  }
}
