/**
 * Time and chance, injected so that tests can own them; and the one clock by which an approval is
 * judged, which never goes back.
 */

import { TIMER_MS_MAX } from "./bounds.ts";

export interface Timing {
  /** Epoch milliseconds. The clock may be set at any time. */
  now(): number;

  /** Milliseconds since some moment. Never set; may stop while the machine sleeps. */
  monotonic(): number;

  /** Resolves after `ms`; rejects with the signal's reason when that is aborted before. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;

  /** Calls `run` after `ms`. @returns cancels it */
  after(ms: number, run: () => void): () => void;

  /** From 0 to below 1. */
  random(): number;
}

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
 * Wall-clock time that cannot be turned back: the later of what the wall clock says and what it
 * said at some time before plus what has passed since. Set forward, it follows, so an approval
 * ends too early rather than too late; while a machine sleeps, it is the wall clock that goes on.
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
 * What the promise becomes, or the signal's reason, whichever is first: also when the work behind
 * the promise ignores the signal.
 */
export async function abortable<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return promise;
  // No handler may be left for its rejection.
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
