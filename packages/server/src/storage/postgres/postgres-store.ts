/**
 * The engine that replicas share: PostgreSQL 15 or newer.
 *
 * A transaction is BEGIN, the work and COMMIT on one connection, READ COMMITTED: what must not
 * change meanwhile is locked, and every statement sees what was committed before it. Commits that
 * wait for the disk together are synced together by the server, so no commits are gathered here;
 * messages are: what one transaction asks in one turn of the loop, and lookups of all exchanges.
 *
 * Every commit waits for the disk, also where less was asked for: when the database loses what was
 * not synced, replicas that rely on it (the holder of a claim, foremost) live on.
 *
 * A connection that breaks during COMMIT leaves the outcome unknown. The caller is told of a
 * Failure and reads again or repeats with its key; nothing here assumes either outcome.
 */

import { type Clock, type Random, systemClock } from "../../clock.ts";
import { Failure } from "../../failure.ts";
import type { Reader, Row, SqlValue, Store, Transaction } from "../store.ts";
import { assertUsable } from "./assert-usable.ts";
import { type Connection, Connections, type Patience } from "./connections.ts";
import { DatabaseClock } from "./database-clock.ts";
import { breaksConnection, isRetriable, reasonOf, toThrown } from "./errors.ts";
import { GatheredLookups } from "./gathered-lookups.ts";
import { PostgresTransaction, type SharedTime } from "./postgres-transaction.ts";

/** Runs of a work that loses against others: deadlocks, foremost. */
const RUNS_MAX = 6;

const READS_MAX = 2;

/** No run begins later than this after the first. */
const RUNS_MS_MAX = 5_000;

/** Before the second run; doubled for each one after it. */
const PAUSE_MS = 10;

/** Names the lock of `transactAlone` among the advisory locks of the database. */
const ALONE_LOCK = 4_735_401_187_092_310;

/** For what waits for other processes to migrate, and does so itself. */
const ALONE_SETTINGS = ["set local lock_timeout = 60000", "set local statement_timeout = 0"];

const IS_NEW = "select case when to_regclass('schema_version') is null then 1 end as is_new";

const BEGIN = "begin isolation level read committed";

const TIME = "select floor(extract(epoch from clock_timestamp()) * 1000) as now";

export interface PostgresOptions {
  /** `postgres://...`; may hold a password, and is never part of a message. */
  readonly url: string;
  readonly connectionsMax: number;
  /** Accept a server that answers before its disk has what it was told. */
  readonly acceptsLoss: boolean;
  readonly random: Random;
  /** For a free connection, ms. */
  readonly patienceMs?: number | undefined;
  /** In place of the database's, for tests that own the time. */
  readonly clock?: Clock | undefined;
}

export class PostgresStore implements Store {
  readonly isExclusive = false;
  /** Whether there was no schema in it when it was opened. */
  isNew = false;
  /** The clock of `Transaction.now`, for those who look at the time outside of a transaction. */
  readonly clock: Clock;
  readonly #connections: Connections;
  readonly #lookups: GatheredLookups;
  readonly #random: Random;
  readonly #time: SharedTime;
  /** What was begun and has not ended. */
  readonly #running = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  /** @throws Failure when the database cannot be reached, or must not be used as it is */
  static async open(options: PostgresOptions): Promise<PostgresStore> {
    const store = new PostgresStore(options);
    try {
      await assertUsable(store.#reader(), options.acceptsLoss);
      store.isNew = (await store.get(IS_NEW))?.is_new === 1;
      // The first look at the time, before anybody goes by it.
      await store.transact((tx) => tx.now());
      return store;
    } catch (error) {
      await store.close();
      const failure = toThrown(error);
      const reason = reasonOf(failure.cause ?? failure);
      throw new Failure("store", `the database cannot be used: ${reason}`, failure);
    }
  }

  private constructor({ url, connectionsMax, patienceMs, random, clock }: PostgresOptions) {
    this.#connections = new Connections(url, connectionsMax, patienceMs);
    this.#lookups = new GatheredLookups(() => this.#take());
    this.#random = random;
    const shared = new DatabaseClock();
    this.clock = clock ?? shared;
    this.#time = clock === undefined ? databaseTime(shared) : ownTime(clock);
  }

  async get(sql: string, values?: readonly SqlValue[]): Promise<Row | undefined> {
    return (await this.all(sql, values))[0];
  }

  all(sql: string, values?: readonly SqlValue[]): Promise<Row[]> {
    return this.#track(() => this.#read(sql, values));
  }

  transact<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#track(() => this.#transact(work));
  }

  transactAlone<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const alone = async (tx: Transaction): Promise<T> => {
      for (const setting of ALONE_SETTINGS) await tx.run(setting);
      // Ends with the transaction, and so also behind a pooler that lends connections for one.
      await tx.run("select pg_advisory_xact_lock($1)", [ALONE_LOCK]);
      return work(tx);
    };
    return this.#track(() => this.#transact(alone, "patient"));
  }

  async check(): Promise<void> {
    await this.transact((tx) => tx.run("update health set checked_at = checked_at + 1"));
  }

  close(): Promise<void> {
    this.#closing ??= Promise.allSettled(this.#running).then(() => this.#connections.end());
    return this.#closing;
  }

  #reader(): Reader {
    return { get: this.get.bind(this), all: this.all.bind(this) };
  }

  async #track<T>(begin: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw new Failure("store", "the store is closed");
    const running = begin();
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  async #read(sql: string, values: readonly SqlValue[] = []): Promise<Row[]> {
    if (this.#lookups.takes(sql)) {
      try {
        return await this.#lookups.read(sql, values);
      } catch (error) {
        if (error instanceof Failure) throw error;
        // Perhaps because of one beside it, or of a connection that broke: now alone.
      }
    }
    if (!READS.test(sql)) throw new Error("a statement that writes was sent as a read");
    for (let run = 1; ; run++) {
      const connection = await this.#take();
      try {
        const { rows } = await connection.query(sql, values);
        connection.release();
        return rows;
      } catch (error) {
        connection.release(error);
        // It broke while nobody used it, as all do when the server starts again.
        if (run === READS_MAX || !breaksConnection(error)) throw toThrown(error);
      }
    }
  }

  async #transact<T>(work: Work<T>, patience?: Patience): Promise<T> {
    const giveUpAt = systemClock.now() + RUNS_MS_MAX;
    for (let run = 1; ; run++) {
      const outcome = await this.#run(work, patience);
      if (outcome.kind === "committed") return outcome.value;
      if (outcome.kind === "failed") throw outcome.error;
      if (run === RUNS_MAX || systemClock.now() >= giveUpAt) {
        throw new Failure("store", "a transaction could not be run to its end", outcome.error);
      }
      await this.#pause(run);
    }
  }

  async #run<T>(work: Work<T>, patience?: Patience): Promise<Outcome<T>> {
    const connection = await this.#take(patience);
    // On its way together with the first statement of the work, which waits for both answers.
    const begun = connection.query(BEGIN, []).then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    const transaction = new PostgresTransaction(connection, this.#time, begun);
    const worked = await work(transaction).then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    transaction.end();
    const unbegun = await begun;
    if (unbegun !== undefined) {
      connection.discard();
      // The connection broke while nobody used it: the next one may be better.
      return { kind: "again", error: unbegun.error };
    }
    if (transaction.fault === undefined && "value" in worked) {
      return commit(connection, transaction, worked.value);
    }
    await transaction.settled();
    const { fault } = transaction;
    await rollBack(connection, fault?.error);
    if (fault !== undefined && isRetriable(fault.error)) return { kind: "again", ...fault };
    return { kind: "failed", error: "error" in worked ? worked.error : toThrown(fault?.error) };
  }

  async #take(patience?: Patience): Promise<Connection> {
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
    return new Promise((resolve) => systemClock.after(delayMs, resolve));
  }
}

type Work<T> = (tx: Transaction) => Promise<T>;

type Outcome<T> =
  | { readonly kind: "committed"; readonly value: T }
  /** Undone as a whole, for a reason that may have passed. */
  | { readonly kind: "again"; readonly error: unknown }
  | { readonly kind: "failed"; readonly error: unknown };

/** What may be sent outside of a transaction. */
const READS = /^\s*(?:select|with)\b/i;

/**
 * Sends COMMIT behind what the work did not wait for. From here on a connection that breaks leaves
 * the outcome unknown, whichever of their answers is missing; a statement that was refused does
 * not: the server skips a COMMIT behind it, or answers that it has undone everything.
 */
async function commit<T>(
  connection: Connection,
  transaction: PostgresTransaction,
  value: T,
): Promise<Outcome<T>> {
  const committing = connection.query("commit", []).catch((error: unknown) => ({ error }));
  const [committed] = await Promise.all([committing, transaction.settled()]);
  if (!("error" in committed)) {
    connection.release();
    if (committed.command === "COMMIT") return { kind: "committed", value };
    return undone(transaction.fault?.error ?? new Failure("store", "a transaction was undone"));
  }
  const { error } = committed;
  if (!breaksConnection(error)) {
    await rollBack(connection, undefined);
    return undone(error);
  }
  connection.release(error);
  const message = "the connection broke during a commit: its outcome is unknown";
  return { kind: "failed", error: new Failure("store", message, error) };
}

/** What the database did not take. */
function undone(error: unknown): Outcome<never> {
  return isRetriable(error) ? { kind: "again", error } : { kind: "failed", error: toThrown(error) };
}

/** A connection that cannot do so any more is closed, which undoes the transaction as well. */
async function rollBack(connection: Connection, fault: unknown): Promise<void> {
  if (fault !== undefined && breaksConnection(fault)) return connection.release(fault);
  try {
    await connection.query("rollback", []);
    connection.release();
  } catch {
    connection.discard();
  }
}

function databaseTime(clock: DatabaseClock): SharedTime {
  const read: SharedTime["read"] = async (connection) => {
    const askedAt = systemClock.now();
    const { rows } = await connection.query(TIME, []);
    const now = Number(rows[0]?.now);
    clock.learn(now, askedAt);
    return now;
  };
  return { isAsked: true, read };
}

function ownTime(clock: Clock): SharedTime {
  return { isAsked: false, read: async () => clock.now() };
}
