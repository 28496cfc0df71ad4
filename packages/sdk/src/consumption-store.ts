/**
 * Records the use of an approval before its call starts. No key and no request can then start a
 * second call, even if a provider violates the contract.
 *
 * file-store.ts, sql-store.ts and redis-store.ts contain durable stores. store-conformance.ts
 * checks any store.
 */

import { systemTiming, type Timing } from "./clock.ts";
import {
  HourlyPruning,
  PRUNING_OPTIONS,
  type PruningOptions,
  STORE_RETENTION_MS,
} from "./hourly-pruning.ts";
import { assertKnownOptions } from "./known-options.ts";

/** Records which approvals were used, and optionally the results of their calls. */
export interface ConsumptionStore {
  /**
   * Consumes an id. For each id, exactly one call of this method returns `true`, also with
   * concurrent callers in several processes. It must return `true` only for a durable record. A
   * store may delete records that are older than eight days, and no others.
   *
   * In a database, insert into a unique column: return `true` if the row was inserted, `false` if
   * it existed. Reject if the result is unknown; then the call does not run.
   *
   * @param id at most about 3,000 characters
   */
  consume(id: string): Promise<boolean>;

  /**
   * For a store that loses its records when the process exits: since when it has them, epoch ms.
   * An approval of a request from before is not used, because its call may have run.
   */
  readonly recordsSince?: number | undefined;

  /** True if the id is consumed. Without this method, a late repetition of a call is `lapsed`. */
  has?(id: string): Promise<boolean>;

  /**
   * Saves the result of the call that consumed the id. Keep it as long as the record of the id. If
   * `saveResult` or `loadResult` is missing, results stay in process memory.
   *
   * @param text at most 1,048,576 UTF-16 code units. It may contain a tool's result, so protect it
   */
  saveResult?(id: string, text: string): Promise<void>;

  /** Loads a saved result. @returns undefined if no result was saved */
  loadResult?(id: string): Promise<string | undefined>;
}

/** Limit for all results in memory, in UTF-16 code units. The oldest results are deleted first. */
const RESULTS_CHARS_MAX = 16 * 1024 * 1024;

/**
 * Stores records in memory until the process exits. Use it in tests. A call whose key an earlier
 * process used does not run, because the store does not know whether it ran before.
 */
export class MemoryStore implements ConsumptionStore {
  readonly recordsSince: number;
  /** The monotonic time of each consumption, ms. The oldest one is first. */
  readonly #consumedAt = new Map<string, number>();
  readonly #results = new Map<string, string>();
  readonly #timing: Timing;
  readonly #pruning: HourlyPruning;
  #resultChars = 0;

  constructor(options: PruningOptions = {}) {
    assertKnownOptions("new MemoryStore()", options, PRUNING_OPTIONS);
    this.#timing = options.timing ?? systemTiming;
    this.recordsSince = this.#timing.now();
    this.#pruning = new HourlyPruning(() => this.prune(), options);
  }

  async consume(id: string): Promise<boolean> {
    if (this.#consumedAt.has(id)) return false;
    this.#consumedAt.set(id, this.#timing.monotonic());
    this.#pruning.start();
    return true;
  }

  async has(id: string): Promise<boolean> {
    return this.#consumedAt.has(id);
  }

  async saveResult(id: string, text: string): Promise<void> {
    if (this.#results.has(id)) return;
    this.#results.set(id, text);
    this.#resultChars += text.length;
    for (const oldest of this.#results.keys()) {
      if (this.#resultChars <= RESULTS_CHARS_MAX) break;
      this.#deleteResult(oldest);
    }
  }

  async loadResult(id: string): Promise<string | undefined> {
    return this.#results.get(id);
  }

  /** Deletes records older than eight days. The store calls it itself, at most once an hour. */
  async prune(): Promise<void> {
    const now = this.#timing.monotonic();
    for (const [id, consumedAt] of this.#consumedAt) {
      if (now - consumedAt < STORE_RETENTION_MS) break;
      this.#consumedAt.delete(id);
      this.#deleteResult(id);
    }
  }

  #deleteResult(id: string): void {
    this.#resultChars -= this.#results.get(id)?.length ?? 0;
    this.#results.delete(id);
  }
}
