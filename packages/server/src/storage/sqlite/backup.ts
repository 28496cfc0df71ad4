/**
 * Copies a database, also while a server writes to it.
 */

import { existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { Failure } from "../../failure.ts";

/**
 * Writes one consistent snapshot, checks it from end to end, and only then gives it its name.
 *
 * @throws Failure when `target` exists, the disk is full or the copy is not sound
 */
export function backupDatabase(source: string, target: string): void {
  if (existsSync(target)) throw new Failure("backup", `${target} exists already`);
  const draft = `${target}.${process.pid}.part`;
  try {
    // Only the owner may read a backup, wherever it is.
    writeFileSync(draft, "", { mode: 0o600, flag: "wx" });
    const database = new DatabaseSync(source);
    try {
      database.exec("pragma busy_timeout = 5000; pragma synchronous = full");
      // A single read transaction: writers go on and the copy is of one moment.
      database.prepare("vacuum into ?").run(draft);
    } finally {
      database.close();
    }
    assertSound(draft);
    renameSync(draft, target);
  } catch (error) {
    rmSync(draft, { force: true });
    if (error instanceof Failure) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new Failure("backup", `the backup failed: ${reason}`, error);
  }
}

function assertSound(file: string): void {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const row = database.prepare("pragma integrity_check(1)").get();
    const verdict = row?.integrity_check;
    if (verdict !== "ok") throw new Failure("backup", `the copy is damaged: ${verdict}`);
  } finally {
    database.close();
  }
}
