/** One run of the work of one transaction. */

import { CommitHooks } from "../commit-hooks.ts";
import type { Integrity } from "../integrity.ts";
import type { SearchIndex } from "../search-index.ts";
import type { LockMode, Row, SqlValue, Transaction } from "../store.ts";
import type { Connection } from "./connections.ts";
import { isRetriable, toThrown } from "./errors.ts";
import type { Answer, Kind } from "./statement-batch.ts";

/** The clock that all replicas share. */
export interface SharedTime {
  /** True when a statement reads it, which can be sent with another one. */
  readonly isQueried: boolean;
  /** @returns epoch ms */
  read(connection: Pick<Connection, "query">): Promise<number>;
}

/** Limits the size of one message, for a work with many inserts. */
const UNAWAITED_MAX = 64;

/**
 * The server cancels statements after 10 s and sessions that are idle in a transaction after 15 s
 * (see connections.ts; a start rejects a pooler that drops these limits). This is time for about a
 * dozen of both.
 */
export const TRANSACTION_MS_MAX = 300_000;

/** Shared by all transactions of a store. */
export interface TransactionParts {
  readonly time: SharedTime;
  readonly integrity: Integrity;
  readonly search: SearchIndex;
}

export interface TransactionOptions extends TransactionParts {
  /** Number of works that share this transaction, each with its own object. */
  readonly works: number;
  /** Resolves when BEGIN was answered, with success or failure. */
  readonly begun: Promise<unknown>;
}

export class PostgresTransaction implements Transaction {
  readonly lastsMsMax: number;
  readonly integrity: Integrity;
  readonly search: SearchIndex;
  readonly #connection: Connection;
  readonly #time: SharedTime;
  /**
   * The first error of a statement. PostgreSQL rejects everything after it, and answers a commit
   * with a rollback: the work must fail even if it caught this error.
   */
  fault: { readonly error: unknown } | undefined;
  /** The time read after a lock, until the next query. */
  #timeAfterLock: Promise<number> | undefined;
  /** Writes that are not awaited. */
  readonly #unawaited: Promise<unknown>[] = [];
  /**
   * False in a shared transaction: it fails instead of waiting for a row, because others would wait
   * too.
   */
  readonly #waits: boolean;
  readonly hooks = new CommitHooks();
  /** True when a rollback would undo a write. */
  hasWritten = false;
  #hasStarted = false;
  #ended = false;

  constructor(
    connection: Connection,
    { works, time, integrity, search, begun }: TransactionOptions,
  ) {
    this.integrity = integrity;
    this.search = search;
    this.lastsMsMax = works * TRANSACTION_MS_MAX;
    this.#connection = connection;
    this.#time = time;
    this.#waits = works === 1;
    begun.then(() => {
      this.#hasStarted = true;
    });
  }

  async get(sql: string, values?: readonly SqlValue[]): Promise<Row | undefined> {
    return (await this.all(sql, values))[0];
  }

  getMany(sql: string, values?: readonly SqlValue[]): Promise<Row[]> {
    return this.all(sql, values);
  }

  async all(sql: string, values?: readonly SqlValue[]): Promise<Row[]> {
    return (await this.#query("read", sql, values ?? [])).rows;
  }

  /**
   * Also reads the time, which most callers need next: with a separate statement, which starts
   * after the lock is taken and is sent in the same message.
   */
  async lock(mode: LockMode, sql: string, values?: readonly SqlValue[]): Promise<Row | undefined> {
    const text = `${sql} for ${mode}${this.#waits ? "" : " nowait"}`;
    const locked = this.#query("lock", text, values ?? []);
    if (this.#time.isQueried) {
      const time = this.#readTime();
      time.catch(() => {});
      this.#timeAfterLock = time;
    }
    return (await locked).rows[0];
  }

  /**
   * Does not wait for the answer: after a failed insert, PostgreSQL rejects every later statement
   * and the commit. Before the answer to BEGIN it waits: after a failed BEGIN, the next statements
   * would each commit on their own.
   */
  async insert(sql: string, values: readonly SqlValue[]): Promise<void> {
    this.#assertRunning();
    const inserted = this.#query("write", sql, values);
    this.hasWritten = true;
    if (!this.#hasStarted) {
      await inserted;
      return;
    }
    const unawaited = this.#unawaited.push(inserted.catch(() => {}));
    if (unawaited >= UNAWAITED_MAX) await this.settled();
  }

  async run(sql: string, values?: readonly SqlValue[]): Promise<number> {
    const { count } = await this.#query("write", sql, values);
    if (count > 0 || values === undefined) this.hasWritten = true;
    return count;
  }

  async runReturning(sql: string, values: readonly SqlValue[]): Promise<Row[]> {
    const { rows } = await this.#query("write", sql, values);
    if (rows.length > 0) this.hasWritten = true;
    return rows;
  }

  /** A separate statement: one that waits for a lock would return the time before it. */
  now(): Promise<number> {
    return this.#timeAfterLock ?? this.#readTime();
  }

  onCommit(hook: () => void): void {
    this.#assertRunning();
    this.hooks.add(hook);
  }

  /** No further queries are permitted. */
  end(): void {
    this.#ended = true;
  }

  /** Waits for inserts that were not awaited; then `fault` is known. */
  async settled(): Promise<void> {
    await Promise.all(this.#unawaited.splice(0));
  }

  #readTime(): Promise<number> {
    return this.#time.read({ query: (...statement) => this.#query(...statement) });
  }

  async #query(kind: Kind, sql: string, values?: readonly SqlValue[]): Promise<Answer> {
    this.#assertRunning();
    this.#timeAfterLock = undefined;
    try {
      return await this.#connection.query(kind, sql, values);
    } catch (error) {
      // Later errors are consequences of the first one.
      this.fault ??= { error };
      throw toThrownUnlessRetriable(this.fault.error);
    }
  }

  #assertRunning(): void {
    if (this.#ended) throw new Error("a query was sent on a transaction that has ended");
    if (this.fault !== undefined) throw toThrownUnlessRetriable(this.fault.error);
  }
}

/** Keeps a retriable error unchanged, so that no caller treats it as a failure. */
function toThrownUnlessRetriable(error: unknown): unknown {
  return isRetriable(error) ? error : toThrown(error);
}
