/**
 * The one interface between the provider and its database. Operations hand a transaction to the
 * functions in storage/sql; only a driver knows its engine.
 *
 * SQL here is one text for every engine: `$1` parameters, TEXT and BIGINT, `on conflict`,
 * `returning`; no engine functions, no generated ids, no `now()`.
 */

import type { Integrity } from "./integrity.ts";
import type { SqlValue } from "./sql-value.ts";

export type { SqlValue };

export type Row = Readonly<Record<string, SqlValue>>;

export interface Reader {
  /** Of the database that is read. */
  readonly integrity: Integrity;

  /** The first row, as last committed. */
  get(sql: string, values?: readonly SqlValue[]): Promise<Row | undefined>;

  all(sql: string, values?: readonly SqlValue[]): Promise<Row[]>;
}

export type LockMode =
  /** Nobody else may lock or change the row until this transaction ends. */
  | "update"
  /** Others may hold it too, but nobody may change it. */
  | "share";

export interface Transaction extends Reader {
  /**
   * How long it can take at most from any of its statements to its commit, ms: what takes longer
   * is undone by the engine, whatever happens to this process. Infinity where nobody sees to that.
   */
  readonly lastsMsMax: number;

  /**
   * As `get`, and holds the row. Read the clock after this, never before.
   *
   * @param sql a plain select from one table, so that it is clear which row is held
   */
  lock(mode: LockMode, sql: string, values?: readonly SqlValue[]): Promise<Row | undefined>;

  /**
   * @returns how many rows were written; an insert of plain values may be answered before it was
   *   made, and what it fails with is then thrown by what comes next, the commit at the latest
   */
  run(sql: string, values?: readonly SqlValue[]): Promise<number>;

  /**
   * Epoch milliseconds by the clock that all replicas share. Call it after the row that the
   * time is compared with was locked: a statement that waits on a lock keeps its old time, and
   * an approval would slip past its deadline.
   */
  now(): Promise<number>;
}

/** What a commit survives once it is answered. */
export type Durability =
  /** Also a loss of power. */
  | "power"
  /**
   * The end of the process, and only mostly a loss of power: for what nobody was told and what is
   * safely done again. It waits for no disk.
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
   * True when this process alone takes leases in it, for as long as it lives: every lease that
   * was taken before is that of a dead process. Never true of an engine that replicas share.
   */
  readonly isExclusive: boolean;

  /**
   * Runs `work` in one transaction and answers only after a commit that is as durable as asked:
   * against a loss of power, unless it is said otherwise. What `work` throws undoes its own writes
   * and nobody else's.
   *
   * `work` may wait for nothing but its transaction, because others may be committing with it,
   * and it may be run again after its writes were undone: only its last run counts, so it must
   * change nothing but through its transaction.
   *
   * @throws Failure when the engine cannot write; nothing of `work` is then promised or lost
   */
  transact<T>(work: (tx: Transaction) => Promise<T>, durability?: Durability): Promise<T>;

  /**
   * As `transact`, and the engine may commit it together with others of its kind, of which it may
   * then undo this one for nothing that it did, and run it again. Fit for works that are many and
   * short.
   *
   * @param subject names what the work decides on. Works of one subject never have a transaction
   *   together; of two subjects, neither may go by what the other one changes.
   */
  transactBeside<T>(subject: string, work: (tx: Transaction) => Promise<T>): Promise<T>;

  /**
   * As `transact`, and no other process is in one of these at the same time: for migrations and
   * what else happens once for a database. It may take long.
   */
  transactAlone<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;

  /** @throws Failure when the engine cannot write durably */
  check(): Promise<void>;

  /** Connections of this process; missing where the engine is embedded. */
  countPool?(): PoolCounts;

  close(): Promise<void>;
}
