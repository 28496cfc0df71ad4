/**
 * The log that commits are appended to (SQLite's WAL), synced beside the event loop and carried
 * over into the database in time.
 *
 * @see https://sqlite.org/wal.html
 */

import { closeSync, fdatasync, fstatSync, openSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { syncFolder } from "../../sync-folder.ts";
import { LOG_BYTES_MAX } from "./open-database.ts";

/** How much longer, while a reader prevents a complete checkpoint. */
const PATIENCE_BYTES = 4 * 1024 * 1024;

export class WriteAheadLog {
  readonly #writer: DatabaseSync;
  readonly #descriptor: number;
  #carriedOverAt = LOG_BYTES_MAX;

  /** @param writer opened as `syncedBy: "writeAheadLog"` */
  constructor(file: string, writer: DatabaseSync) {
    this.#writer = writer;
    this.#descriptor = openSync(`${file}-wal`, "r+");
    // Its name must survive a loss of power as well.
    syncFolder(dirname(file));
  }

  /**
   * Call this at the start of a server. After a failed sync and a kill, frames in the log can be in
   * memory only, and later commits would follow them. A log that was closed properly is empty.
   */
  carryOverWhatWasLeft(): void {
    this.#carryOver();
  }

  /** Resolves when everything that was committed before is on the disk. */
  sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      fdatasync(this.#descriptor, (error) => (error === null ? resolve() : reject(error)));
    });
  }

  /**
   * To be called between transactions, while no reader holds a snapshot: with a reader, the
   * checkpoint is partial and the log keeps growing.
   *
   * A failed checkpoint, as on a full disk, is retried later and fails no transaction: committed
   * data stays in the log.
   */
  checkpointWhenLong(): void {
    const { size } = fstatSync(this.#descriptor);
    if (size <= this.#carriedOverAt) return;
    this.#carriedOverAt = this.#carryOver() ? LOG_BYTES_MAX : size + PATIENCE_BYTES;
  }

  /** @returns whether all of it was */
  #carryOver(): boolean {
    try {
      const done = this.#writer.prepare("pragma wal_checkpoint(passive)").get();
      return done?.log === done?.checkpointed;
    } catch {
      return false;
    }
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}
