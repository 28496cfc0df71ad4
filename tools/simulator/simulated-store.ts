/**
 * How one replica reaches the database: every statement and every answer is a turn, at which the
 * replica may end, freeze or be told that something failed.
 *
 * Called by: replica.ts.
 */

import { Failure } from "@countersign/server/failure";
import { CommitHooks } from "@countersign/server/storage/commit-hooks";
import type { Integrity } from "@countersign/server/storage/integrity";
import type { DatabaseClock } from "@countersign/server/storage/postgres/database-clock";
import type {
  LockMode,
  Row,
  SqlValue,
  Store,
  Transaction,
} from "@countersign/server/storage/store";
import type { Database, Session } from "./database.ts";
import type { Faults } from "./faults.ts";
import type { Actor, World } from "./world.ts";

/** As PostgreSQL's; see storage/postgres/postgres-transaction.ts. */
const LASTS_MS_MAX = 300_000;

const RUNS_MAX = 6;

export interface StoreParts {
  readonly world: World;
  readonly database: Database;
  readonly actor: Actor;
  /** What the replica takes for the database's clock. */
  readonly clock: DatabaseClock;
  /** The replica's own, which the other one is compared with. */
  readonly ownNow: () => number;
  readonly faults: () => Faults;
  readonly integrity: Integrity;
}

type Work<T> = (tx: Transaction) => Promise<T>;

export class SimulatedStore implements Store {
  readonly isExclusive = false;
  readonly integrity: Integrity;
  readonly #parts: StoreParts;

  constructor(parts: StoreParts) {
    this.integrity = parts.integrity;
    this.#parts = parts;
  }

  async get(sql: string, values?: readonly SqlValue[]): Promise<Row | undefined> {
    return (await this.all(sql, values))[0];
  }

  async all(sql: string, values: readonly SqlValue[] = []): Promise<Row[]> {
    const { world, database, actor } = this.#parts;
    // What is asked or answered at once is a schedule like another, and a turn less.
    if (world.draw.happens(world.awaitsReads)) await world.turn(actor, `reads ${shortOf(sql)}`);
    this.#maybeBreak();
    const rows = database.read(actor, sql, values);
    if (world.draw.happens(world.awaitsReads)) {
      await world.turn(actor, `has read ${rows.length} rows`);
    }
    return rows;
  }

  async transact<T>(work: Work<T>): Promise<T> {
    const { world, actor } = this.#parts;
    for (let run = 1; ; run++) {
      const outcome = await this.#run(work);
      await world.turn(actor, outcome.kind);
      if (outcome.kind === "committed") {
        outcome.hooks.run();
        return outcome.value;
      }
      if (outcome.kind === "failed") throw outcome.error;
      if (run === RUNS_MAX) throw new Failure("store", "a transaction could not be run to its end");
    }
  }

  /** Alone: how works share a transaction of PostgreSQL is not simulated. */
  transactBatched<T>(_: string, work: Work<T>): Promise<T> {
    return this.transact(work);
  }

  transactExclusive<T>(work: Work<T>): Promise<T> {
    return this.transact(work);
  }

  async check(): Promise<void> {
    await this.transact((tx) => tx.run("update health set checked_at = checked_at + 1"));
  }

  async close(): Promise<void> {}

  async #run<T>(work: Work<T>): Promise<Outcome<T>> {
    const { world, database, actor, faults } = this.#parts;
    await world.turn(actor, "begins");
    let session: Session;
    try {
      this.#maybeBreak();
      session = await database.begin(actor);
    } catch (error) {
      return { kind: "failed", error };
    }
    const transaction = new SimulatedTransaction(this.#parts, session);
    let value: T;
    try {
      value = await work(transaction);
    } catch (error) {
      transaction.end();
      database.rollback(session);
      return { kind: "failed", error: transaction.fault ?? error };
    }
    // What failed undoes all of it, also when the work did not mind.
    const { fault } = transaction;
    transaction.end();
    await world.turn(actor, "commits");
    const { draw } = world;
    const isUndone = fault !== undefined || draw.happens(faults().commitLost);
    const isAgain = !isUndone && draw.happens(faults().rerun);
    if (isUndone || isAgain) {
      database.rollback(session);
      const error = fault ?? new Failure("store", "the commit did not come about");
      return isAgain ? { kind: "again" } : { kind: "failed", error };
    }
    try {
      database.commit(session);
      world.exposed.add(actor);
    } catch (error) {
      return { kind: "failed", error };
    }
    if (!draw.happens(faults().commitUnknown)) {
      return { kind: "committed", value, hooks: transaction.hooks };
    }
    world.note(actor, "its commit came about, and it is told that nobody knows");
    return { kind: "failed", error: new Failure("store", "the outcome is unknown") };
  }

  #maybeBreak(): void {
    const { world, actor, faults } = this.#parts;
    if (!world.draw.happens(faults().statement)) return;
    world.note(actor, "the connection breaks");
    throw new Failure("store", "the connection broke");
  }
}

type Outcome<T> =
  | { readonly kind: "committed"; readonly value: T; readonly hooks: CommitHooks }
  | { readonly kind: "again" }
  | { readonly kind: "failed"; readonly error: unknown };

class SimulatedTransaction implements Transaction {
  readonly lastsMsMax = LASTS_MS_MAX;
  readonly integrity: Integrity;
  readonly #parts: StoreParts;
  readonly #session: Session;
  readonly hooks = new CommitHooks();
  #isEnded = false;
  /** Statements are run in the order in which they were sent. */
  #last: Promise<unknown> = Promise.resolve();
  /** What it failed with first: nothing after that succeeds. */
  fault: unknown;

  constructor(parts: StoreParts, session: Session) {
    this.integrity = parts.integrity;
    this.#parts = parts;
    this.#session = session;
  }

  async get(sql: string, values?: readonly SqlValue[]): Promise<Row | undefined> {
    return (await this.all(sql, values))[0];
  }

  all(sql: string, values: readonly SqlValue[] = []): Promise<Row[]> {
    return this.#send(shortOf(sql), () => this.#parts.database.all(this.#session, sql, values));
  }

  lock(_: LockMode, sql: string, values?: readonly SqlValue[]): Promise<Row | undefined> {
    return this.get(sql, values);
  }

  async insert(sql: string, values: readonly SqlValue[]): Promise<void> {
    await this.run(sql, values);
  }

  runReturning(sql: string, values: readonly SqlValue[]): Promise<Row[]> {
    return this.all(sql, values);
  }

  run(sql: string, values?: readonly SqlValue[]): Promise<number> {
    return this.#send(shortOf(sql), () => this.#parts.database.change(this.#session, sql, values));
  }

  now(): Promise<number> {
    const { database, clock, ownNow } = this.#parts;
    const askedAt = ownNow();
    return this.#send("asks for the time", () => {
      const now = database.now(this.#session);
      clock.learn(now, askedAt);
      return now;
    });
  }

  onCommit(hook: () => void): void {
    this.hooks.add(hook);
  }

  end(): void {
    this.#isEnded = true;
  }

  #send<T>(what: string, execute: () => T): Promise<T> {
    const sent = this.#last.then(async () => {
      await this.#parts.world.turn(this.#parts.actor, what);
      return this.#execute(execute);
    });
    this.#last = sent.catch(() => undefined);
    return sent;
  }

  #execute<T>(execute: () => T): T {
    const { world, faults, actor } = this.#parts;
    if (this.#isEnded) throw new Error("a query was sent on a transaction that has ended");
    if (this.fault !== undefined) throw this.fault;
    try {
      if (world.draw.happens(faults().statement)) {
        world.note(actor, "the connection breaks");
        throw new Failure("store", "the connection broke");
      }
      return execute();
    } catch (error) {
      this.fault = error;
      throw error;
    }
  }
}

const shorts = new Map<string, string>();

/** Enough of a statement to know it by. */
export function shortOf(sql: string): string {
  const known = shorts.get(sql);
  if (known !== undefined) return known;
  const short = sql.trim().replace(/\s+/g, " ").slice(0, 60);
  shorts.set(sql, short);
  return short;
}
