/**
 * One run of one transaction's work.
 */

import { CommitHooks } from "../commit-hooks.ts";
import type { Integrity } from "../integrity.ts";
import type { LockMode, Row, SqlValue, Transaction } from "../store.ts";
import type { Connection } from "./connections.ts";
import { isRetriable, toThrown } from "./errors.ts";
import type { Answer, Kind } from "./statement-batch.ts";

/** The clock that all replicas share. */
export interface SharedTime {
  /** Whether it is read by a statement, which can go along with another one. */
  readonly isQueried: boolean;
  /** @returns epoch ms */
  read(connection: Pick<Connection, "query">): Promise<number>;
}

/** Bounds what one message holds, of a work that inserts very many rows. */
const UNAWAITED_MAX = 64;

/**
 * The server ends statements that take longer than 10 s and sessions that keep a transaction
 * waiting for 15 s (see connections.ts; a pooler that leaves that out is refused at start). That
 * is time for a dozen of both.
 */
export const TRANSACTION_MS_MAX = 300_000;

/** What all transactions of a store share. */
export interface TransactionParts {
  readonly time: SharedTime;
  readonly integrity: Integrity;
}

export interface TransactionOptions extends TransactionParts {
  /** How many works have this transaction together, each through an object of its own. */
  readonly works: number;
  /** Resolves when the database has answered that it begins, or that it does not. */
  readonly begun: Promise<unknown>;
}

export class PostgresTransaction implements Transaction {
  readonly lastsMsMax: number;
  readonly integrity: Integrity;
  readonly #connection: Connection;
  readonly #time: SharedTime;
  /**
   * What a statement failed with first. PostgreSQL refuses everything after it, and answers a
   * commit by undoing the transaction: the work must not end well, also if it swallowed this.
   */
  fault: { readonly error: unknown } | undefined;
  /** Read right behind a lock, as long as nothing was asked since. */
  #timeAfterLock: Promise<number> | undefined;
  /** What was written and not waited for. */
  readonly #unawaited: Promise<unknown>[] = [];
  /** Who is not alone fails in place of waiting for a row: others would wait with it. */
  readonly #waits: boolean;
  readonly hooks = new CommitHooks();
  /** Whether undoing it undoes anything. */
  hasWritten = false;
  #hasBegun = false;
  #ended = false;

  constructor(connection: Connection, { works, time, integrity, begun }: TransactionOptions) {
    this.integrity = integrity;
    this.lastsMsMax = works * TRANSACTION_MS_MAX;
    this.#connection = connection;
    this.#time = time;
    this.#waits = works === 1;
    begun.then(() => {
      this.#hasBegun = true;
    });
  }

  async get(sql: string, values?: readonly SqlValue[]): Promise<Row | undefined> {
    return (await this.all(sql, values))[0];
  }

  async all(sql: string, values?: readonly SqlValue[]): Promise<Row[]> {
    return (await this.#query("read", sql, values ?? [])).rows;
  }

  /**
   * Reads the time as well, because most callers need it next: by a statement of its own, which
   * starts when this one has the lock, and which travels in the same message.
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
   * Does not wait for the answer: after an insert that fails, PostgreSQL refuses every later
   * statement and the commit. Before BEGIN was answered it does wait: after a BEGIN that failed,
   * the statements behind it would each commit on their own.
   */
  async insert(sql: string, values: readonly SqlValue[]): Promise<void> {
    this.#assertRunning();
    const inserted = this.#query("write", sql, values);
    this.hasWritten = true;
    if (!this.#hasBegun) {
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

  /** Nothing more may be asked. */
  end(): void {
    this.#ended = true;
  }

  /** Waits for the inserts that were not awaited; then `fault` is known. */
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
      // Those behind the first one failed because of it.
      this.fault ??= { error };
      throw toThrownUnlessRetriable(this.fault.error);
    }
  }

  #assertRunning(): void {
    if (this.#ended) throw new Error("a query was sent on a transaction that has ended");
    if (this.fault !== undefined) throw toThrownUnlessRetriable(this.fault.error);
  }
}

/** Keeps a retriable error as it is, so that no caller treats it as a failure. */
function toThrownUnlessRetriable(error: unknown): unknown {
  return isRetriable(error) ? error : toThrown(error);
}
