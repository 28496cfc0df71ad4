/**
 * How a replica reaches the database where works share transactions: the product's own groups, runs
 * of transactions and shared reads of PostgreSQL (decision 10), over a simulated connection. What
 * PostgresStore does around them is done here again; its pool and protocol are left out.
 *
 * Called by: replica.ts, in the seeds that draw it.
 */

import type { Clock } from "@countersign/server/clock";
import { Failure } from "@countersign/server/failure";
import type { Integrity } from "@countersign/server/storage/integrity";
import { GroupedWorks } from "@countersign/server/storage/postgres/grouped-works";
import type {
  SharedTime,
  TransactionParts,
} from "@countersign/server/storage/postgres/postgres-transaction";
import { type Result, runWorks, type Work } from "@countersign/server/storage/postgres/run-works";
import type { Row, SqlValue, Store } from "@countersign/server/storage/store";
import { SimulatedConnection, TIME } from "./simulated-connection.ts";
import { SimulatedStore, type StoreParts } from "./simulated-store.ts";

const RUNS_MAX = 6;

/** Between two runs, ms. */
const PAUSE_MS = 20;

/** That one of those who decide something makes. */
const WRITES = 3;

interface Member {
  readonly subject: string;
  readonly work: Work<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export class GroupedStore implements Store {
  readonly isExclusive = false;
  readonly integrity: Integrity;
  readonly #parts: StoreParts;
  /** For reads, which are the same. */
  readonly #reads: SimulatedStore;
  readonly #shared: TransactionParts;
  readonly #grouped: GroupedWorks<Member>;

  /** @param ownClock of the process */
  constructor(parts: StoreParts, ownClock: Clock) {
    this.integrity = parts.integrity;
    this.#parts = parts;
    this.#reads = new SimulatedStore(parts);
    this.#grouped = new GroupedWorks((group) => this.#transactGroup(group), ownClock);
    const { clock, ownNow } = parts;
    const read: SharedTime["read"] = async (connection) => {
      const askedAt = ownNow();
      const { rows } = await connection.query("read", TIME, []);
      const now = Number(rows[0]?.now);
      clock.learn(now, askedAt);
      return now;
    };
    this.#shared = { time: { isAsked: true, read }, integrity: this.integrity };
  }

  get(sql: string, values?: readonly SqlValue[]): Promise<Row | undefined> {
    return this.#reads.get(sql, values);
  }

  all(sql: string, values?: readonly SqlValue[]): Promise<Row[]> {
    return this.#reads.all(sql, values);
  }

  async transact<T>(work: Work<T>): Promise<T> {
    const { world, actor } = this.#parts;
    for (let run = 1; ; run++) {
      const outcome = await runWorks(await this.#take(), this.#shared, [work]);
      if (outcome.kind === "ended") return told(outcome.results[0]);
      if (outcome.kind !== "again") throw outcome.error;
      if (run === RUNS_MAX) throw new Failure("store", "a transaction could not be run to its end");
      await world.sleep(actor, PAUSE_MS * run, "runs it again");
    }
  }

  transactBatched<T>(subject: string, work: Work<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const settles = { resolve: (value: unknown) => resolve(value as T), reject };
      this.#grouped.add({ subject, work, ...settles });
    });
  }

  transactExclusive<T>(work: Work<T>): Promise<T> {
    return this.transact(work);
  }

  check(): Promise<void> {
    return this.#reads.check();
  }

  async close(): Promise<void> {}

  /** As PostgresStore does it. */
  async #transactGroup(group: readonly Member[]): Promise<void> {
    const { world, faults } = this.#parts;
    if (group.length > 1) world.count("shared transactions");
    const works = group.map(({ work }) => work);
    if (group.length > 1 && world.draw.happens(faults().falter)) {
      const one = world.draw.below(works.length);
      works[one] = this.#faltering(works[one] as Work<unknown>);
    }
    const outcome = await this.#take()
      .then((connection) => runWorks(connection, this.#shared, works))
      .catch((error: unknown) => ({ kind: "unknown", error }) as const);
    if (group.length > 1) world.count(`shared and ${outcome.kind}`);
    for (const [i, member] of group.entries()) {
      if (outcome.kind === "unknown") member.reject(outcome.error);
      else if (outcome.kind === "ended") settle(member, outcome.results[i]);
      else this.transact(member.work).then(member.resolve, member.reject);
    }
  }

  /** Fails by itself behind one of its first writes, whatever the others do. */
  #faltering(work: Work<unknown>): Work<unknown> {
    const { world, actor } = this.#parts;
    let writes = world.draw.between(1, WRITES);
    const written = <T>(result: T): T => {
      if (--writes !== 0) return result;
      world.count("works failed beside others");
      world.note(actor, "a work fails beside others");
      throw new Failure("store", "it fails beside others");
    };
    return (tx) =>
      work({
        lastsMsMax: tx.lastsMsMax,
        integrity: tx.integrity,
        get: (sql, values) => tx.get(sql, values),
        all: (sql, values) => tx.all(sql, values),
        lock: (mode, sql, values) => tx.lock(mode, sql, values),
        now: () => tx.now(),
        onCommit: (hook) => tx.onCommit(hook),
        insert: (sql, values) => tx.insert(sql, values).then(written),
        run: (sql, values) => tx.run(sql, values).then(written),
        runReturning: (sql, values) => tx.runReturning(sql, values).then(written),
      });
  }

  /** @throws Failure when there is none to be had in time */
  async #take(): Promise<SimulatedConnection> {
    const { world, database, actor, faults } = this.#parts;
    await world.turn(actor, "takes a connection");
    if (world.draw.happens(faults().statement)) {
      world.note(actor, "gets none");
      throw new Failure("store", "there is no connection");
    }
    return new SimulatedConnection(this.#parts, await database.begin(actor));
  }
}

function settle({ resolve, reject }: Member, result: Result<unknown> | undefined): void {
  if (result === undefined) reject(new Error("a work has no result"));
  else if ("error" in result) reject(result.error);
  else resolve(result.value);
}

function told<T>(result: Result<T> | undefined): T {
  if (result === undefined) throw new Error("a work has no result");
  if ("error" in result) throw result.error;
  return result.value;
}
