/**
 * Clocks, timers and randomness, injected so that tests control them, and the clock for the expiry
 * of approvals, which never moves backward.
 */

import { TIMER_MS_MAX } from "./bounds.ts";

/** Clocks, timers and randomness that the SDK uses. Replace it in tests. */
export interface Timing {
  /** Wall clock, epoch milliseconds. An operator can set this clock at any time. */
  now(): number;

  /** Milliseconds since an arbitrary start. Never set; may stop while the machine is suspended. */
  monotonic(): number;

  /** Resolves after `ms` milliseconds; rejects with the signal's reason if it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;

  /** Calls `run` after `ms` milliseconds. @returns a function that cancels the timer */
  after(ms: number, run: () => void): () => void;

  /** A random number, at least 0 and below 1. */
  random(): number;
}

/** Clocks, timers and randomness of the runtime. */
export const systemTiming: Timing = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep(ms, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const abort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const wake = () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      };
      const timer = setTimeout(wake, Math.min(ms, TIMER_MS_MAX));
      signal?.addEventListener("abort", abort, { once: true });
    });
  },
  after(ms, run) {
    const timer = setTimeout(run, Math.min(ms, TIMER_MS_MAX));
    return () => clearTimeout(timer);
  },
  random: () => (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) / 2 ** 32,
};

/**
 * Wall-clock time that never moves backward: the later of the wall clock, and an earlier reading
 * plus the monotonic time since then. It follows a clock that is set forward, so an approval
 * expires too early rather than too late. While a machine is suspended, only the wall clock
 * continues.
 */
export class ForwardClock {
  readonly #timing: Timing;
  #latest: number;
  #seenAt: number;

  constructor(timing: Timing) {
    this.#timing = timing;
    this.#latest = timing.now();
    this.#seenAt = timing.monotonic();
  }

  /** Epoch milliseconds. */
  now(): number {
    const monotonic = this.#timing.monotonic();
    const passed = Math.max(0, monotonic - this.#seenAt);
    this.#latest = Math.max(this.#timing.now(), this.#latest + passed);
    this.#seenAt = monotonic;
    return this.#latest;
  }
}

/**
 * Settles with the promise, or rejects with the signal's reason, whichever is first. It also works
 * when the work behind the promise ignores the signal.
 */
export async function abortable<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return promise;
  // Prevents an unhandled rejection when the signal aborts first.
  promise.catch(() => {});
  signal.throwIfAborted();
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
  });
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
