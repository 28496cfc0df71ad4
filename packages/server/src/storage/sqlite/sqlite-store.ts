/**
 * The embedded engine: one file, one writer, durable before it answers.
 *
 * Two connections. The writer runs transactions one after another; those that wait at the same time
 * share one commit, because the sync to disk is what costs. In the rare case that one of them fails
 * after it has written, all are undone and each commits alone: a savepoint for every transaction
 * would cost the common case a third of its time. The sync is not SQLite's, which would hold the
 * event loop: the log is synced by another thread, and meanwhile the next exchanges are read. No
 * exchange is answered before the sync, and reads wait for it: an older state would lack what
 * another process has committed and announced meanwhile.
 */

import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../clock.ts";
import { Failure } from "../../failure.ts";
import { CommitHooks } from "../commit-hooks.ts";
import { Integrity } from "../integrity.ts";
import type { Durability, LockMode, Row, SqlValue, Store, Transaction } from "../store.ts";
import { assertSound, ensureDatabase, openDatabase, setTemporaryFolder } from "./open-database.ts";
import { SQLITE_SEARCH } from "./search-index.ts";
import { SnapshotReader } from "./snapshot-reader.ts";
import { Statements } from "./statements.ts";
import { WriteAheadLog } from "./write-ahead-log.ts";

/** Bounds how long one commit blocks the event loop. */
const TRANSACTIONS_PER_COMMIT_MAX = 256;

interface Waiting {
  readonly work: (tx: Transaction) => Promise<unknown>;
  readonly durability: Durability;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export interface SqliteOptions {
  /** How long a commit waits for a writer in another process; it holds the thread. */
  readonly busyMs?: number | undefined;
  /** The caller holds the lock of the data folder and is the server; see data-lock.ts. */
  readonly isExclusive?: boolean;
}

export class SqliteStore implements Store {
  readonly integrity = new Integrity();
  readonly search = SQLITE_SEARCH;
  readonly isExclusive: boolean;
  readonly #writer: DatabaseSync;
  readonly #writing: Statements;
  readonly #reader: SnapshotReader;
  readonly #log: WriteAheadLog;
  readonly #clock: Clock;
  #waiting: Waiting[] = [];
  #draining: Promise<void> | undefined;
  #closed = false;
  /** While it is under way, not all that reads would see is on the disk. */
  #syncing: Promise<void> | undefined;
  /** Whether the log may have a commit of ours that is not on the disk. */
  #isBehind = true;
  /** Why nothing is written or read any more; see {@link #sync}. */
  #lost: Failure | undefined;

  /** @throws Failure when the file cannot be opened or is damaged */
  constructor(file: string, clock: Clock, { busyMs, isExclusive = false }: SqliteOptions = {}) {
    this.isExclusive = isExclusive;
    ensureDatabase(file);
    assertSound(file);
    this.#writer = openDatabase(file, { busyMs, syncedBy: "writeAheadLog" });
    setTemporaryFolder(this.#writer, dirname(file));
    this.#writing = new Statements(this.#writer);
    this.#reader = new SnapshotReader(openDatabase(file, { busyMs }));
    this.#log = new WriteAheadLog(file, this.#writer);
    if (isExclusive) this.#log.carryOverWhatWasLeft();
    this.#clock = clock;
  }

  async get(sql: string, values?: readonly SqlValue[]): Promise<Row | undefined> {
    while (this.#syncing !== undefined) await this.#syncing;
    this.#assertOpen();
    return this.#reader.get(sql, values);
  }

  getMany(sql: string, values?: readonly SqlValue[]): Promise<Row[]> {
    return this.all(sql, values);
  }

  async all(sql: string, values?: readonly SqlValue[]): Promise<Row[]> {
    while (this.#syncing !== undefined) await this.#syncing;
    this.#assertOpen();
    return this.#reader.all(sql, values);
  }

  transact<T>(work: (tx: Transaction) => Promise<T>, durability: Durability = "power"): Promise<T> {
    if (this.#closed) return Promise.reject(new Failure("store", "the store is closed"));
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, durability, resolve: (value) => resolve(value as T), reject });
      // After the poll phase: everything that arrived in one turn of the loop commits together.
      this.#draining ??= new Promise((drained) => {
        setImmediate(() => this.#drain().then(drained));
      });
    });
  }

  /** All commit together anyway, and run one after another. */
  transactBatched<T>(_: string, work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.transact(work);
  }

  /**
   * There is one writer anyway. But a single statement of a migration may change a whole table, and
   * what would undo it has to be somewhere: beside the database, not in memory.
   */
  async transactExclusive<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    await this.#keepTemporary("file");
    try {
      return await this.transact(work);
    } finally {
      await this.#keepTemporary("memory");
    }
  }

  /** Takes effect with the next transaction, and cannot be changed in one. */
  async #keepTemporary(where: "file" | "memory"): Promise<void> {
    while (this.#draining !== undefined) await this.#draining;
    if (!this.#closed) this.#writer.exec(`pragma temp_store = ${where}`);
  }

  async check(): Promise<void> {
    // A write that changes something: a full disk still reads well, and takes what is the same.
    await this.transact((tx) => tx.run("update health set checked_at = checked_at + 1"));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#draining;
    this.#reader.close();
    this.#writer.close();
    this.#log.close();
  }

  #assertOpen(): void {
    if (this.#closed) throw new Failure("store", "the store is closed");
    if (this.#lost !== undefined) throw this.#lost;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, TRANSACTIONS_PER_COMMIT_MAX);
      await this.#commitTogether(batch);
      // A caller with many writes, such as a deletion of very many rows, returns in this same
      // iteration of the event loop, and would starve all others until it is done.
      if (this.#waiting.length > 0) await new Promise((resolve) => setImmediate(resolve));
    }
    this.#draining = undefined;
  }

  /** Settles every member of the batch, and only after the outcome of the commit is known. */
  async #commitTogether(batch: readonly Waiting[]): Promise<void> {
    const settle: (() => void)[] = [];
    try {
      if (this.#lost !== undefined) throw this.#lost;
      this.#writing.run("begin immediate");
      for (const { work, resolve, reject } of batch) {
        const transaction = new SqliteTransaction(this.#writing, this.#clock, this.integrity);
        try {
          const value = await work(transaction);
          this.#isBehind ||= transaction.hasWritten;
          settle.push(() => {
            try {
              transaction.hooks.run();
              resolve(value);
            } catch (error) {
              reject(error);
            }
          });
        } catch (error) {
          // A full disk undoes the whole commit; then no member of it may succeed.
          if (!this.#writer.isTransaction) throw error;
          if (transaction.hasWritten) return await this.#undo(batch, error);
          settle.push(() => reject(error));
        } finally {
          transaction.end();
        }
      }
      await this.#commit(batch);
    } catch (error) {
      this.#rollback();
      const failure =
        error instanceof Failure ? error : new Failure("store", "the commit failed", error);
      for (const { reject } of batch) reject(failure);
      return;
    }
    for (const settleOne of settle) settleOne();
  }

  /**
   * A batch without a need for a sync gets none, such as one that changed nothing. The log of
   * later commits follows that of earlier ones, so a sync covers what was committed before it.
   */
  async #commit(batch: readonly Waiting[]): Promise<void> {
    const isSynced = batch.some(({ durability }) => durability === "power");
    this.#writing.run("commit");
    if (isSynced && this.#isBehind) {
      this.#syncing = this.#sync();
      try {
        await this.#syncing;
      } finally {
        this.#syncing = undefined;
      }
    }
    this.#reader.refresh();
    this.#log.checkpointWhenLong();
  }

  /**
   * After a failed fsync the page cache may claim that data is durable when it is not, and the next
   * fsync may succeed without it. So the store refuses all further work until a restart reads the
   * disk.
   */
  async #sync(): Promise<void> {
    try {
      await this.#log.sync();
      this.#isBehind = false;
    } catch (error) {
      const message =
        "fsync failed: check the disk, then restart; until then the store refuses all work";
      this.#lost = new Failure("store", message, error);
      throw this.#lost;
    }
  }

  /** One member failed after it had written: only its writes are rolled back. */
  async #undo(batch: readonly Waiting[], error: unknown): Promise<void> {
    this.#rollback();
    const [only] = batch;
    if (batch.length === 1) only?.reject(error);
    else for (const member of batch) await this.#commitTogether([member]);
  }

  /** Leaves a transaction that cannot even be undone to the next `begin`, which then fails. */
  #rollback(): void {
    try {
      if (this.#writer.isTransaction) this.#writing.run("rollback");
    } catch {
      // Report the failure that led here.
    }
  }
}

class SqliteTransaction implements Transaction {
  /** A process that is stopped goes on where it was. */
  readonly lastsMsMax = Number.POSITIVE_INFINITY;
  readonly integrity: Integrity;
  readonly search = SQLITE_SEARCH;
  readonly #statements: Statements;
  readonly #clock: Clock;
  readonly hooks = new CommitHooks();
  hasWritten = false;
  #ended = false;

  constructor(statements: Statements, clock: Clock, integrity: Integrity) {
    this.integrity = integrity;
    this.#statements = statements;
    this.#clock = clock;
  }

  async get(sql: string, values?: readonly SqlValue[]): Promise<Row | undefined> {
    this.#assertRunning();
    return this.#statements.get(sql, values);
  }

  getMany(sql: string, values?: readonly SqlValue[]): Promise<Row[]> {
    return this.all(sql, values);
  }

  async all(sql: string, values?: readonly SqlValue[]): Promise<Row[]> {
    this.#assertRunning();
    return this.#statements.all(sql, values);
  }

  /** There is one writer, so every row is locked from `begin immediate` on. */
  lock(_: LockMode, sql: string, values?: readonly SqlValue[]): Promise<Row | undefined> {
    return this.get(sql, values);
  }

  async insert(sql: string, values: readonly SqlValue[]): Promise<void> {
    await this.run(sql, values);
  }

  async run(sql: string, values?: readonly SqlValue[]): Promise<number> {
    this.#assertRunning();
    const changes = this.#statements.run(sql, values);
    // A change of the schema reports no changed rows.
    if (changes > 0 || values === undefined) this.hasWritten = true;
    return changes;
  }

  async runReturning(sql: string, values: readonly SqlValue[]): Promise<Row[]> {
    this.#assertRunning();
    const rows = this.#statements.all(sql, values);
    if (rows.length > 0) this.hasWritten = true;
    return rows;
  }

  async now(): Promise<number> {
    return this.#clock.now();
  }

  onCommit(hook: () => void): void {
    this.#assertRunning();
    this.hooks.add(hook);
  }

  end(): void {
    this.#ended = true;
  }

  #assertRunning(): void {
    if (this.#ended) throw new Error("a query was sent on a transaction that has ended");
  }
}
