/** Clock and random source, injected so that tests and simulations control them. */

import { randomBytes, randomUUID } from "node:crypto";

export interface Clock {
  /** Epoch milliseconds. */
  now(): number;

  /**
   * Milliseconds from an arbitrary start. It is never adjusted. It continues while the process is
   * stopped, and may pause while the machine sleeps.
   */
  monotonic(): number;

  /**
   * Calls back once after about `delayMs`. A delay of 0 calls back at the end of the current event
   * loop iteration. Does not keep the process alive.
   *
   * @returns cancels the call
   */
  after(delayMs: number, callback: () => void): () => void;

  /**
   * Timer coalescing: a time close to this one at which other timers fire too, so that an idle
   * process seldom wakes up. For work that is repeated every second or less often.
   *
   * @param at epoch ms
   * @returns epoch ms: less than a second before `at`, or at most 5 ms after it
   */
  coalesced(at: number): number;
}

export interface Random {
  bytes(count: number): Uint8Array;

  /** An unpredictable UUIDv4. */
  uuid(): string;
}

/** The longest delay of a Node timer. Node fires a longer one immediately. */
const TIMER_MS_MAX = 2 ** 31 - 1;

const COALESCED_MS = 1_000;

/** A timer can fire so long before its time, because it uses another clock. */
const TIMER_EARLY_MS = 5;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, callback) {
    if (delayMs <= 0) {
      // A timer takes at least 1 ms.
      const immediate = setImmediate(callback).unref();
      return () => clearImmediate(immediate);
    }
    const timer = setTimeout(callback, Math.min(delayMs, TIMER_MS_MAX)).unref();
    return () => clearTimeout(timer);
  },
  coalesced(at) {
    const late = at + TIMER_EARLY_MS;
    return late - (late % COALESCED_MS);
  },
};

const POOL_BYTES = 4096;

/** Reads random bytes from the kernel in blocks, to save a system call per identifier. */
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
