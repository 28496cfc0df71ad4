/**
 * The store that replicas share: PostgreSQL 15 or newer.
 *
 * A transaction is BEGIN, its work and COMMIT on one connection with READ COMMITTED: rows that must
 * not change are locked, and every statement sees earlier commits. Statements of one event loop
 * iteration are sent in one message, and so are lookups of all exchanges. Works that permit it
 * share a transaction.
 *
 * Every commit waits for the disk, even when less durability was requested: if the database loses
 * unsynced data, replicas that depend on it (mainly the holder of a claim) keep running.
 *
 * A connection that breaks during COMMIT leaves the outcome unknown. The caller receives a Failure
 * and reads again or repeats with its key; this code assumes neither outcome.
 */

import { type Clock, type Random, systemClock } from "../../clock.ts";
import { Failure } from "../../failure.ts";
import { Integrity } from "../integrity.ts";
import type { SearchIndex } from "../search-index.ts";
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
import { POSTGRES_SEARCH } from "./search-index.ts";
import type { Answer } from "./statement-batch.ts";

/** Maximum runs of a work that is rolled back because of others, mainly in deadlocks. */
const RUNS_MAX = 6;

const READS_MAX = 2;

/** No run starts later than this after the first one. */
const RUNS_MS_MAX = 5_000;

/** Pause before the second run; it doubles with each further one. */
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
  /** `postgres://...`; may contain a password, so messages never include it. */
  readonly url: string;
  readonly connectionsMax: number;
  /** Accept a server that answers before its data is durable. */
  readonly acceptsLoss: boolean;
  readonly random: Random;
  /** Maximum wait for a free connection, ms. */
  readonly patienceMs?: number | undefined;
  /** Replaces the database clock, for tests. */
  readonly clock?: Clock | undefined;
}

export interface PostgresParts {
  readonly connections: ConnectionSource;
  readonly random: Random;
  /** The clock of this process. */
  readonly ownClock?: Clock;
  /** Receives the times that transactions read from the database. */
  readonly databaseClock?: DatabaseClock;
  /** As that of {@link PostgresOptions}. */
  readonly clock?: Clock | undefined;
  /** Replaces the index, for a simulation on another engine. */
  readonly search?: SearchIndex;
}

export class PostgresStore implements Store {
  readonly isExclusive = false;
  readonly integrity = new Integrity();
  readonly search: SearchIndex;
  /** True when the database had no schema when it was opened. */
  isNew = false;
  /** The clock of `Transaction.now`, for use outside of a transaction. */
  readonly clock: Clock;
  readonly #connections: ConnectionSource;
  readonly #lookups: GatheredLookups;
  readonly #grouped: GroupedWorks<Member>;
  readonly #random: Random;
  readonly #ownClock: Clock;
  readonly #parts: TransactionParts;
  /** Running works. */
  readonly #running = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;
  /** True after a write failed because of a full disk, until a write that needs space succeeds. */
  #lacksRoom = false;

  /** @throws Failure when the database cannot be reached or used */
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
    this.search = parts.search ?? POSTGRES_SEARCH;
    this.#connections = connections;
    this.#lookups = new GatheredLookups(() => this.#take());
    this.#grouped = new GroupedWorks((group) => this.#transactGroup(group), ownClock);
    this.#random = random;
    this.#ownClock = ownClock;
    const { databaseClock = new DatabaseClock(ownClock) } = parts;
    this.clock = clock ?? databaseClock;
    const time = clock === undefined ? databaseTime(databaseClock, ownClock) : ownTime(clock);
    this.#parts = { time, integrity: this.integrity, search: this.search };
  }

  async get(sql: string, values: readonly SqlValue[] = []): Promise<Row | undefined> {
    return (await this.#track(() => this.#readByKey(sql, values)))[0];
  }

  getMany(sql: string, values: readonly SqlValue[] = []): Promise<Row[]> {
    return this.#track(() => this.#readByKey(sql, values));
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
      // Released at the end of the transaction, so it also works with a transaction pooler.
      await tx.get("select pg_advisory_xact_lock($1)", [EXCLUSIVE_LOCK]);
      return work(tx);
    };
    return this.#track(() => this.#transact(exclusive, "patient"));
  }

  async check(): Promise<void> {
    await this.transact((tx) => tx.run("update health set checked_at = checked_at + 1"));
    // The update needs no new page, so it succeeds on a full volume, where no page can be added.
    if (this.#lacksRoom) await this.#checkRoom();
  }

  /** Adds more rows than the last page holds, and rolls back. Vacuum removes the pages again. */
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
    const { integrity, search } = this;
    return {
      integrity,
      search,
      get: this.get.bind(this),
      getMany: this.getMany.bind(this),
      all: this.all.bind(this),
    };
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
      // The cause may be another lookup of the message, or a broken connection.
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

  /** Settles every member. If the group fails, each work runs alone. */
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

  /** Pause between runs, so that conflicting works run one after another. */
  #pause(run: number): Promise<void> {
    const [chance = 0] = this.#random.bytes(1);
    const longest = PAUSE_MS * 2 ** run;
    const delayMs = longest / 2 + (longest / 2) * (chance / 255);
    return new Promise((resolve) => this.#ownClock.after(delayMs, resolve));
  }
}

/** A work that waits for a shared transaction. */
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

/** SQLite rejects such a write; both engines use the same statements. */
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
