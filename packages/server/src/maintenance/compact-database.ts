/** Returns the free space of an SQLite database to the disk. */

import { statSync } from "node:fs";
import { Failure } from "../failure.ts";
import { databaseFile } from "../storage/sqlite/data-folder.ts";
import { lockDataDirectory } from "../storage/sqlite/data-lock.ts";
import { openDatabase, setTemporaryFolder } from "../storage/sqlite/open-database.ts";

export interface Compacted {
  /** Sizes of the database file in bytes. */
  readonly before: number;
  readonly after: number;
}

/**
 * Writes the database again without its free pages, in one transaction. During this time the disk
 * needs up to twice the space of the contents.
 *
 * @throws Failure when a server runs on the data folder, the disk is full, or the database is
 * damaged; the database is then unchanged
 * @see https://www.sqlite.org/lang_vacuum.html
 */
export function compactDatabase(dataDirectory: string): Compacted {
  const lock = lockDataDirectory(dataDirectory);
  try {
    const file = databaseFile(dataDirectory);
    const before = statSync(file).size;
    vacuum(file, dataDirectory);
    return { before, after: statSync(file).size };
  } finally {
    lock.release();
  }
}

function vacuum(file: string, dataDirectory: string): void {
  const database = openDatabase(file);
  try {
    // The pages of a large database do not fit into memory.
    database.exec("pragma temp_store = file");
    setTemporaryFolder(database, dataDirectory);
    database.exec("vacuum; pragma wal_checkpoint(truncate)");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Failure("store", `cannot compact ${file}: ${reason}`, error);
  } finally {
    database.close();
  }
}
