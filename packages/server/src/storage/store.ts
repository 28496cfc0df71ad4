/**
 * The one interface between the provider and its database. Operations hand a transaction to the
 * functions in storage/sql; only a driver knows its engine.
 *
 * SQL here is one text for every engine: `$1` parameters, TEXT and BIGINT, `on conflict`,
 * `returning`; no engine functions, no generated ids, no `now()`.
 */

import type { Integrity } from "./integrity.ts";
import type { SearchIndex } from "./search-index.ts";
import type { SqlValue } from "./sql-value.ts";

export type { SqlValue };

export type Row = Readonly<Record<string, SqlValue>>;

export interface Reader {
  /** Verifies rows of the database that this reads. */
  readonly integrity: Integrity;

  /** The full-text index, which every engine has in its own form. */
  readonly search: SearchIndex;

  /**
   * The first row of a select, as last committed. For a lookup by key or index: outside of a
   * transaction the engine may send it in one message with others, which then wait for it.
   */
  get(sql: string, values?: readonly SqlValue[]): Promise<Row | undefined>;

  /**
   * All rows of a lookup by a few keys. Outside of a transaction, the engine may send several
   * lookups in one message. Each of them then waits for the slowest one.
   */
  getMany(sql: string, values?: readonly SqlValue[]): Promise<Row[]>;

  /** Every row of a select, as last committed. */
  all(sql: string, values?: readonly SqlValue[]): Promise<Row[]>;
}

export type LockMode =
  /** No other transaction can lock or change the row until this one ends. */
  | "update"
  /** Other transactions can lock it in this mode too, but none can change it. */
  | "share";

/**
 * The method that is called states what the statement does: `get` and `all` read, `lock` reads and
 * locks, `insert`, `run` and `runReturning` write. No driver derives it from the text.
 */
export interface Transaction extends Reader {
  /**
   * The longest possible time from any statement to the commit, ms: the engine rolls back a
   * transaction that takes longer, whatever happens to this process. Infinity without such a limit.
   */
  readonly lastsMsMax: number;

  /**
   * As `get`, and locks the row. Read the clock after this, never before.
   *
   * @param sql a select from one table, without a `for` clause
   */
  lock(mode: LockMode, sql: string, values?: readonly SqlValue[]): Promise<Row | undefined>;

  /**
   * Inserts rows of values; anything that prevents it is an error. It may resolve before the
   * database has executed it: the error then surfaces on the next statement or the commit.
   *
   * @param sql an insert without `on conflict` and `returning`
   */
  insert(sql: string, values: readonly SqlValue[]): Promise<void>;

  /**
   * @param values may be left out for what cannot be prepared, such as a change of the schema
   * @returns how many rows were written
   */
  run(sql: string, values?: readonly SqlValue[]): Promise<number>;

  /** @param sql an insert, update or delete with `returning` */
  runReturning(sql: string, values: readonly SqlValue[]): Promise<Row[]>;

  /**
   * Epoch milliseconds by the clock that all replicas share. Call it after the row that the
   * time is compared with was locked: a statement that waits on a lock keeps its old time, and
   * an approval would slip past its deadline.
   */
  now(): Promise<number>;

  /**
   * Runs `hook` once, after the commit of this transaction is durable and before its caller
   * continues. Never runs it after a rollback, or when the outcome of the commit is unknown.
   */
  onCommit(hook: () => void): void;
}

/** Events that an answered commit survives. */
export type Durability =
  /** Also a loss of power. */
  | "power"
  /**
   * The end of the process, and not always a loss of power: for state that was not reported to
   * anyone and can safely be written again. It does not wait for the disk.
   */
  | "process";

export interface PoolCounts {
  readonly used: number;
  readonly idle: number;
  /** Callers that wait for a free connection. */
  readonly waiting: number;
}

export interface Store extends Reader {
  /**
   * True when only this process takes leases in the database while it runs: every older lease
   * belongs to a dead process. Never true for an engine that replicas share.
   */
  readonly isExclusive: boolean;

  /**
   * Runs `work` in one transaction and resolves only after a commit of the requested durability:
   * by default it survives a loss of power. An error from `work` rolls back its own writes and no
   * others.
   *
   * `work` may await only its transaction, because others may be committing with it. The engine
   * may run it again after it rolled back its writes: only the last run counts, so `work` must
   * change nothing except through its transaction.
   *
   * @throws Failure when the engine cannot write; nothing of `work` is then promised or lost
   */
  transact<T>(work: (tx: Transaction) => Promise<T>, durability?: Durability): Promise<T>;

  /**
   * As `transact`, for short and frequent works: the engine may commit several of them in one
   * transaction, and roll one back and run it again because another one failed.
   *
   * @param subject names what the work decides on. Works of one subject never share a transaction;
   *   of two subjects, neither may depend on what the other one changes.
   */
  transactBatched<T>(subject: string, work: (tx: Transaction) => Promise<T>): Promise<T>;

  /**
   * As `transact`, and at most one runs at a time across all processes: for migrations and
   * everything else that happens once for a database. It may take long.
   */
  transactExclusive<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;

  /** @throws Failure when the engine cannot write durably */
  check(): Promise<void>;

  /** Connections of this process; undefined for an embedded engine. */
  countPool?(): PoolCounts;

  close(): Promise<void>;
}
