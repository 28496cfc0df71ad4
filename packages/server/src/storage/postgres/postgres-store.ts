/**
 * The engine that replicas share: PostgreSQL 15 or newer.
 *
 * A transaction is BEGIN, the work and COMMIT on one connection, READ COMMITTED: what must not
 * change meanwhile is locked, and every statement sees what was committed before it. What one
 * transaction asks in one turn of the loop goes in one message, and so do lookups of all exchanges;
 * works that say that they may stand beside others have one transaction with them.
 *
 * Every commit waits for the disk, also where less was asked for: when the database loses what was
 * not synced, replicas that rely on it (the holder of a claim, foremost) live on.
 *
 * A connection that breaks during COMMIT leaves the outcome unknown. The caller is told of a
 * Failure and reads again or repeats with its key; nothing here assumes either outcome.
 */

import { type Clock, type Random, systemClock } from "../../clock.ts";
import { Failure } from "../../failure.ts";
import { Integrity } from "../integrity.ts";
import type { PoolCounts, Reader, Row, SqlValue, Store, Transaction } from "../store.ts";
import { assertPreparedStatementsKept, assertUsable } from "./assert-usable.ts";
import {
  type Connection,
  type ConnectionSource,
  Connections,
  type StatementTimeout,
} from "./connections.ts";
import { DatabaseClock } from "./database-clock.ts";
import { breaksConnection, DISK_FULL, isFailureOf, reasonOf, toThrown } from "./errors.ts";
import { GatheredLookups } from "./gathered-lookups.ts";
import { GroupedWorks } from "./grouped-works.ts";
import type { SharedTime, TransactionParts } from "./postgres-transaction.ts";
import { type Result, runWorks, type Work } from "./run-works.ts";
import type { Answer } from "./statement-batch.ts";

/** Runs of a work that loses against others: deadlocks, foremost. */
const RUNS_MAX = 6;

const READS_MAX = 2;

/** No run begins later than this after the first. */
const RUNS_MS_MAX = 5_000;

/** Before the second run; doubled for each one after it. */
const PAUSE_MS = 10;

/** The advisory lock of `transactExclusive`. */
const EXCLUSIVE_LOCK = 4_735_401_187_092_310;

/** It may wait for the migration of another process, and may migrate itself. */
const EXCLUSIVE_SETTINGS = ["set local lock_timeout = 60000", "set local statement_timeout = 0"];

const IS_NEW = "select case when to_regclass('schema_version') is null then 1 end as is_new";

/** About 10 KB, which is more than a page of 8 KB. */
const ADD_PAGES = "insert into health (checked_at) select 0 from generate_series(1, 300)";

export const TIME_QUERY = "select floor(extract(epoch from clock_timestamp()) * 1000) as now";

export interface PostgresOptions {
  /** `postgres://...`; may hold a password, and is never part of a message. */
  readonly url: string;
  readonly connectionsMax: number;
  /** Accept a server that answers before its data is durable. */
  readonly acceptsLoss: boolean;
  readonly random: Random;
  /** For a free connection, ms. */
  readonly patienceMs?: number | undefined;
  /** In place of the database's, for tests that own the time. */
  readonly clock?: Clock | undefined;
}

export interface PostgresParts {
  readonly connections: ConnectionSource;
  readonly random: Random;
  /** The clock of this process. */
  readonly ownClock?: Clock;
  /** Learns the time that transactions read from the database. */
  readonly databaseClock?: DatabaseClock;
  /** As that of {@link PostgresOptions}. */
  readonly clock?: Clock | undefined;
}

export class PostgresStore implements Store {
  readonly isExclusive = false;
  readonly integrity = new Integrity();
  /** Whether there was no schema in it when it was opened. */
  isNew = false;
  /** The clock of `Transaction.now`, for use outside of a transaction. */
  readonly clock: Clock;
  readonly #connections: ConnectionSource;
  readonly #lookups: GatheredLookups;
  readonly #grouped: GroupedWorks<Member>;
  readonly #random: Random;
  readonly #ownClock: Clock;
  readonly #parts: TransactionParts;
  /** What was begun and has not ended. */
  readonly #running = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;
  /** A write was refused because the disk is full, and none that needs room succeeded since. */
  #lacksRoom = false;

  /** @throws Failure when the database cannot be reached, or must not be used as it is */
  static async open(options: PostgresOptions): Promise<PostgresStore> {
    const { url, connectionsMax, patienceMs, random, clock } = options;
    const connections = new Connections(url, connectionsMax, patienceMs);
    const store = new PostgresStore({ connections, random, clock });
    try {
      await assertUsable(store.#reader(), options.acceptsLoss);
      if (connectionsMax > 1) await assertPreparedStatementsKept(connections, random);
      store.isNew = (await store.get(IS_NEW))?.is_new === 1;
      // Reads the time before the first use.
      await store.transact((tx) => tx.now());
      return store;
    } catch (error) {
      await store.close();
      const failure = toThrown(error);
      const reason = reasonOf(failure.cause ?? failure);
      throw new Failure("store", `the database cannot be used: ${reason}`, failure);
    }
  }

  /** @see open, which checks the database first */
  constructor({ connections, random, clock, ownClock = systemClock, ...parts }: PostgresParts) {
    this.#connections = connections;
    this.#lookups = new GatheredLookups(() => this.#take());
    this.#grouped = new GroupedWorks((group) => this.#transactGroup(group), ownClock);
    this.#random = random;
    this.#ownClock = ownClock;
    const { databaseClock = new DatabaseClock(ownClock) } = parts;
    this.clock = clock ?? databaseClock;
    const time = clock === undefined ? databaseTime(databaseClock, ownClock) : ownTime(clock);
    this.#parts = { time, integrity: this.integrity };
  }

  async get(sql: string, values: readonly SqlValue[] = []): Promise<Row | undefined> {
    return (await this.#track(() => this.#readByKey(sql, values)))[0];
  }

  all(sql: string, values: readonly SqlValue[] = []): Promise<Row[]> {
    return this.#track(() => this.#read(sql, values));
  }

  transact<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#track(() => this.#transact(work));
  }

  /** {@link GroupedWorks} */
  transactBatched<T>(subject: string, work: (tx: Transaction) => Promise<T>): Promise<T> {
    const join = () =>
      new Promise<T>((resolve, reject) => {
        const settles = { resolve: (value: unknown) => resolve(value as T), reject };
        this.#grouped.add({ subject, work, ...settles });
      });
    return this.#track(join);
  }

  transactExclusive<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const exclusive = async (tx: Transaction): Promise<T> => {
      for (const setting of EXCLUSIVE_SETTINGS) await tx.run(setting);
      // Ends with the transaction, and so also behind a pooler that lends connections for one.
      await tx.get("select pg_advisory_xact_lock($1)", [EXCLUSIVE_LOCK]);
      return work(tx);
    };
    return this.#track(() => this.#transact(exclusive, "patient"));
  }

  async check(): Promise<void> {
    await this.transact((tx) => tx.run("update health set checked_at = checked_at + 1"));
    // The update needs no new page, so it succeeds on a full volume, where nothing can be created.
    if (this.#lacksRoom) await this.#checkRoom();
  }

  /** Adds more rows than the last page holds, and undoes that: vacuum cuts the pages off again. */
  async #checkRoom(): Promise<void> {
    const undone = new Error("the rows are not kept");
    const work = async (tx: Transaction) => {
      await tx.run(ADD_PAGES);
      await tx.get("select 1 as added");
      throw undone;
    };
    await this.transact(work).catch((error: unknown) => {
      if (error !== undone) throw error;
    });
    this.#lacksRoom = false;
  }

  countPool(): PoolCounts {
    return this.#connections.count();
  }

  close(): Promise<void> {
    this.#closing ??= Promise.allSettled(this.#running).then(() => this.#connections.end());
    return this.#closing;
  }

  #reader(): Reader {
    const { integrity } = this;
    return { integrity, get: this.get.bind(this), all: this.all.bind(this) };
  }

  async #track<T>(begin: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw new Failure("store", "the store is closed");
    const running = begin();
    this.#running.add(running);
    try {
      return await running;
    } catch (error) {
      if (isFailureOf(error, DISK_FULL)) this.#lacksRoom = true;
      throw error;
    } finally {
      this.#running.delete(running);
    }
  }

  async #readByKey(sql: string, values: readonly SqlValue[]): Promise<Row[]> {
    let answer: Answer;
    try {
      answer = await this.#lookups.read(sql, values);
    } catch (error) {
      if (error instanceof Failure) throw error;
      // The cause may be another lookup of the message, or a connection that broke.
      return this.#read(sql, values);
    }
    return rowsOf(answer);
  }

  async #read(sql: string, values: readonly SqlValue[]): Promise<Row[]> {
    for (let run = 1; ; run++) {
      const connection = await this.#take();
      let answer: Answer;
      try {
        answer = await connection.query("read", sql, values);
      } catch (error) {
        connection.release(error);
        // Idle connections break when the database server restarts.
        if (run === READS_MAX || !breaksConnection(error)) throw toThrown(error);
        continue;
      }
      connection.release();
      return rowsOf(answer);
    }
  }

  async #transact<T>(work: Work<T>, patience?: StatementTimeout): Promise<T> {
    const giveUpAt = this.#ownClock.now() + RUNS_MS_MAX;
    for (let run = 1; ; run++) {
      const outcome = await runWorks(await this.#take(patience), this.#parts, [work]);
      if (outcome.kind === "ended") return unwrap(outcome.results[0]);
      if (outcome.kind !== "again") throw outcome.error;
      if (run === RUNS_MAX || this.#ownClock.now() >= giveUpAt) {
        throw new Failure("store", "a transaction could not be completed", outcome.error);
      }
      await this.#pause(run);
    }
  }

  /** Settles every member. What cannot be done together is done by each of them alone. */
  async #transactGroup(group: readonly Member[]): Promise<void> {
    const works = group.map(({ work }) => work);
    const outcome = await this.#take()
      .then((connection) => runWorks(connection, this.#parts, works))
      .catch((error: unknown) => ({ kind: "unknown", error }) as const);
    for (const [i, member] of group.entries()) {
      if (outcome.kind === "unknown") member.reject(outcome.error);
      else if (outcome.kind === "ended") settle(member, outcome.results[i]);
      else this.#transact(member.work).then(member.resolve, member.reject);
    }
  }

  async #take(patience?: StatementTimeout): Promise<Connection> {
    try {
      return await this.#connections.take(patience);
    } catch (error) {
      throw toThrown(error);
    }
  }

  /** Between runs, so that those who were in each other's way come one after another. */
  #pause(run: number): Promise<void> {
    const [chance = 0] = this.#random.bytes(1);
    const longest = PAUSE_MS * 2 ** run;
    const delayMs = longest / 2 + (longest / 2) * (chance / 255);
    return new Promise((resolve) => this.#ownClock.after(delayMs, resolve));
  }
}

/** A work that waits for a transaction that it shares. */
interface Member {
  readonly subject: string;
  readonly work: Work<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

function settle({ resolve, reject }: Member, result: Result<unknown> | undefined): void {
  try {
    resolve(unwrap(result));
  } catch (error) {
    reject(error);
  }
}

function unwrap<T>(result: Result<T> | undefined): T {
  if (result === undefined) throw new Error("a work has no result");
  if ("error" in result) throw result.error;
  return result.value;
}

/** SQLite prevents such a write; the statements of both engines are the same. */
function rowsOf({ rows, command }: Answer): Row[] {
  if (command === "SELECT") return rows;
  throw new Error(`a statement that writes was sent as a read: ${command}`);
}

function databaseTime(clock: DatabaseClock, ownClock: Clock): SharedTime {
  const read: SharedTime["read"] = async (connection) => {
    const queriedAt = ownClock.now();
    const { rows } = await connection.query("read", TIME_QUERY, []);
    const now = Number(rows[0]?.now);
    clock.learn(now, queriedAt);
    return now;
  };
  return { isQueried: true, read };
}

function ownTime(clock: Clock): SharedTime {
  return { isQueried: false, read: async () => clock.now() };
}
