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
import { CheckpointThread } from "./checkpoint-thread.ts";

/**
 * How long the log becomes before it is carried over: what changes often is then carried over
 * once. It is cut to this length as well (`journal_size_limit`), so the file is longer exactly
 * when the log is.
 */
const LOG_BYTES_MAX = 64 * 1024 * 1024;

/** How much longer, after a checkpoint that a reader or a full disk prevented. */
const PATIENCE_BYTES = 4 * 1024 * 1024;

/** From this length on, commits wait for a running checkpoint: the disk is too slow for both. */
const WAITING_BYTES = 2 * LOG_BYTES_MAX;

export class WriteAheadLog {
  readonly #writer: DatabaseSync;
  readonly #descriptor: number;
  readonly #thread: CheckpointThread;
  /** Length for the next checkpoint. */
  #dueAt = LOG_BYTES_MAX;
  /** The checkpoint beside commits. */
  #running: Promise<void> | undefined;
  /** Only the commits during the last checkpoint are not in the database. */
  #isAlmostDone = false;

  /** @param writer opened as `syncedBy: "writeAheadLog"` */
  constructor(file: string, writer: DatabaseSync) {
    this.#writer = writer;
    this.#thread = new CheckpointThread(file);
    this.#descriptor = openSync(`${file}-wal`, "r+");
    // Its name must survive a loss of power as well.
    syncFolder(dirname(file));
  }

  /**
   * Call this at the start of a server. After a failed sync and a kill, frames in the log can be in
   * memory only, and later commits would follow them. A log that was closed properly is empty.
   */
  carryOverWhatWasLeft(): void {
    try {
      this.#writer.exec("pragma wal_checkpoint(passive)");
    } catch {
      // As on a full disk: what was committed stays in the log.
    }
  }

  /** Resolves when everything that was committed before is on the disk. */
  sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      fdatasync(this.#descriptor, (error) => (error === null ? resolve() : reject(error)));
    });
  }

  /**
   * Call this between transactions. A long log is carried over in two steps. The first one copies
   * almost all of it, while commits go on. The second one copies what they added. The log starts
   * anew only when all of it is carried over, so no commit may come in between.
   *
   * A failed checkpoint, as on a full disk, is repeated later and fails no transaction: committed
   * data stays in the log.
   *
   * @returns when the next transaction may start; undefined: at once
   */
  checkpointWhenLong(): Promise<void> | undefined {
    if (this.#isAlmostDone) return this.#finish();
    const { size } = fstatSync(this.#descriptor);
    if (this.#running !== undefined) return size > WAITING_BYTES ? this.#running : undefined;
    if (size > this.#dueAt) this.#running = this.#carryOver(size);
    return undefined;
  }

  async #carryOver(size: number): Promise<void> {
    this.#isAlmostDone = await this.#thread.run();
    if (!this.#isAlmostDone) this.#dueAt = size + PATIENCE_BYTES;
    this.#running = undefined;
  }

  async #finish(): Promise<void> {
    this.#isAlmostDone = false;
    const isDone = await this.#thread.run();
    this.#dueAt = isDone ? LOG_BYTES_MAX : fstatSync(this.#descriptor).size + PATIENCE_BYTES;
  }

  /** Call it before the writer is closed. */
  async close(): Promise<void> {
    await this.#running;
    await this.#thread.close();
    closeSync(this.#descriptor);
  }
}
