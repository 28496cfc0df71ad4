/**
 * How one replica reaches the database: the product's PostgresStore over simulated connections, on
 * which every statement and every answer is a turn. It counts the transactions that works share,
 * and makes works fail in them.
 */

import { Failure } from "../../packages/server/src/failure.ts";
import {
  type PostgresParts,
  PostgresStore,
} from "../../packages/server/src/storage/postgres/postgres-store.ts";
import { TRANSACTION_MS_MAX } from "../../packages/server/src/storage/postgres/postgres-transaction.ts";
import type { Work } from "../../packages/server/src/storage/postgres/run-works.ts";
import { SQLITE_SEARCH } from "../../packages/server/src/storage/sqlite/search-index.ts";
import type { Transaction } from "../../packages/server/src/storage/store.ts";
import { type ConnectionParts, SimulatedConnections } from "./simulated-connection.ts";

/** The number of writes in a deciding transaction. */
const WRITES = 3;

export interface StoreParts
  extends ConnectionParts,
    Required<Pick<PostgresParts, "random" | "ownClock" | "databaseClock">> {
  /** Whether works share transactions. */
  readonly isGrouped: boolean;
}

export class SimulatedStore extends PostgresStore {
  readonly #parts: StoreParts;

  constructor(parts: StoreParts) {
    const { random, ownClock, databaseClock } = parts;
    const connections = new SimulatedConnections(parts);
    super({ connections, random, ownClock, databaseClock, search: SQLITE_SEARCH });
    this.#parts = parts;
  }

  override async transactBatched<T>(subject: string, work: Work<T>): Promise<T> {
    const { isGrouped, world } = this.#parts;
    if (!isGrouped) return this.transact(work);
    let isShared = false;
    const counted = (tx: Transaction): Promise<T> => {
      const wasShared = isShared;
      isShared = tx.lastsMsMax > TRANSACTION_MS_MAX;
      if (wasShared) world.count("shared and undone");
      return work(isShared ? this.#failingReads(tx) : tx);
    };
    try {
      const value = await super.transactBatched(subject, counted);
      if (isShared) world.count("shared and ended");
      return value;
    } catch (error) {
      const isUnknown = error instanceof Failure && error.message.includes("unknown");
      if (isShared && isUnknown) world.count("shared and unknown");
      throw error;
    }
  }

  /** In some transactions: fails by itself behind one of its first writes, whatever others do. */
  #failingReads(tx: Transaction): Transaction {
    const { world, actor, faults } = this.#parts;
    if (!world.draw.happens(faults().readFailure)) return tx;
    let writes = world.draw.between(1, WRITES);
    const written = <T>(result: T): T => {
      if (--writes !== 0) return result;
      world.count("works failed beside others");
      world.note(actor, "a work fails beside others");
      throw new Failure("store", "it fails beside others");
    };
    return {
      lastsMsMax: tx.lastsMsMax,
      integrity: tx.integrity,
      search: tx.search,
      get: (sql, values) => tx.get(sql, values),
      getMany: (sql, values) => tx.getMany(sql, values),
      all: (sql, values) => tx.all(sql, values),
      lock: (mode, sql, values) => tx.lock(mode, sql, values),
      now: () => tx.now(),
      onCommit: (hook) => tx.onCommit(hook),
      insert: (sql, values) => tx.insert(sql, values).then(written),
      run: (sql, values) => tx.run(sql, values).then(written),
      runReturning: (sql, values) => tx.runReturning(sql, values).then(written),
    };
  }
}
