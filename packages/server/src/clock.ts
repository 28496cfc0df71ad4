/**
 * Time and chance, injected so that tests and simulations can own them.
 */

import { randomBytes, randomUUID } from "node:crypto";

export interface Clock {
  /** Epoch milliseconds. */
  now(): number;

  /**
   * Milliseconds since some moment. It is never set, and continues while this process is stopped;
   * it may pause while the machine sleeps.
   */
  monotonic(): number;

  /**
   * Calls back once, about `delayMs` from now; for 0, when this turn of the event loop has heard
   * everybody. Does not keep the process alive.
   *
   * @returns cancels the call
   */
  after(delayMs: number, callback: () => void): () => void;
}

export interface Random {
  bytes(count: number): Uint8Array;

  /** An unpredictable UUIDv4. */
  uuid(): string;
}

/** What a timer can hold; beyond it Node would call back at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, callback) {
    if (delayMs <= 0) {
      // A timer takes a millisecond at least.
      const immediate = setImmediate(callback).unref();
      return () => clearImmediate(immediate);
    }
    const timer = setTimeout(callback, Math.min(delayMs, TIMER_MS_MAX)).unref();
    return () => clearTimeout(timer);
  },
};

const POOL_BYTES = 4096;

/** Draws from the kernel in blocks: one identifier does not deserve a system call. */
export function systemRandom(): Random {
  let pool = randomBytes(POOL_BYTES);
  let used = 0;
  return {
    bytes(count) {
      if (count > POOL_BYTES) return randomBytes(count);
      if (used + count > POOL_BYTES) {
        pool = randomBytes(POOL_BYTES);
        used = 0;
      }
      used += count;
      return pool.subarray(used - count, used);
    },
    uuid: () => randomUUID(),
  };
}
