/**
 * Limits long-running concurrent work: one at a time for each key, and a maximum for all keys.
 * There is no queue. Each process counts for itself.
 */

import { Problem } from "@countersign/protocol";
import { KeyedSemaphore } from "../../keyed-semaphore.ts";

const RETRY_S = 5;

export interface LimiterOptions {
  readonly totalMax: number;
  /** The error while work of the same key is running. */
  readonly sameKey: string;
  /** The error while too much work of other keys is running. */
  readonly otherKeys: string;
}

export class ConcurrencyLimiter {
  readonly #options: LimiterOptions;
  readonly #slots: KeyedSemaphore;
  readonly #stopping = new AbortController();

  constructor(options: LimiterOptions) {
    this.#options = options;
    this.#slots = new KeyedSemaphore({ perKeyMax: 1, totalMax: options.totalMax });
  }

  /**
   * @param work receives a signal that is aborted when the server stops
   * @throws Problem `rate_limited` while work of this key is running, `unavailable` while too much
   * work of other keys is running
   */
  async run<T>(key: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const release = this.#slots.tryAcquire(key);
    if (release === undefined) {
      const { sameKey, otherKeys } = this.#options;
      throw this.#slots.inUse(key) > 0
        ? new Problem("rate_limited", sameKey, { retryAfterS: RETRY_S })
        : new Problem("unavailable", otherKeys, { retryAfterS: RETRY_S });
    }
    try {
      return await work(this.#stopping.signal);
    } finally {
      release();
    }
  }

  /** Aborts all work. */
  stop(): void {
    const message = "The server is stopping. Retry in a few seconds.";
    this.#stopping.abort(new Problem("unavailable", message, { retryAfterS: RETRY_S }));
  }
}
