/**
 * A token bucket for each key: a steady rate with bursts of twice that. Kept in memory by every
 * replica for itself; it protects the process, it is no quota.
 */

import type { Clock } from "../clock.ts";

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** Bounds memory: beyond it the bucket that was made first goes, and starts again full. */
const KEYS_MAX = 100_000;

export class RateLimiter {
  readonly #perSecond: number;
  readonly #clock: Pick<Clock, "now">;
  readonly #buckets = new Map<string, Bucket>();

  /** @param perSecond 0 is no limit */
  constructor(perSecond: number, clock: Pick<Clock, "now">) {
    this.#perSecond = perSecond;
    this.#clock = clock;
  }

  /** @returns 0 when the exchange may go on, else the whole seconds after which it may */
  take(key: string): number {
    if (this.#perSecond === 0) return 0;
    const bucket = this.#filled(key);
    if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) / this.#perSecond);
    bucket.tokens--;
    return 0;
  }

  /** Charges for work that turned out to be large; the next exchanges wait for it. */
  charge(key: string, tokens: number): void {
    if (this.#perSecond > 0) this.#filled(key).tokens -= tokens;
  }

  #filled(key: string): Bucket {
    const now = this.#clock.now();
    const burst = this.#perSecond * 2;
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      const [oldest] = this.#buckets.size < KEYS_MAX ? [] : this.#buckets.keys();
      if (oldest !== undefined) this.#buckets.delete(oldest);
      const fresh = { tokens: burst, filledAt: now };
      this.#buckets.set(key, fresh);
      return fresh;
    }
    const elapsedS = Math.max(0, now - bucket.filledAt) / 1000;
    bucket.tokens = Math.min(burst, bucket.tokens + elapsedS * this.#perSecond);
    bucket.filledAt = now;
    return bucket;
  }
}
