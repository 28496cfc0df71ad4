/**
 * A token bucket for each key: a steady rate with bursts of twice the rate. Kept in memory, by each
 * replica on its own. It protects the process and is not an exact quota.
 */

import { Problem } from "@countersign/protocol";
import type { Clock } from "./clock.ts";

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** Bounds memory. Beyond it, the oldest buckets are deleted and start full again. */
const KEYS_MAX = 100_000;

/** Rounding error of fractions of a token in binary. */
const ROUNDING = 1e-9;

export class RateLimiter {
  readonly #perSecond: number;
  readonly #clock: Pick<Clock, "now">;
  readonly #burst: number;
  readonly #buckets = new Map<string, Bucket>();
  #round = this.#buckets.entries();

  /**
   * @param perSecond 0: no limit
   * @param burst maximum exchanges at once, at least 1
   */
  constructor(perSecond: number, clock: Pick<Clock, "now">, burst = perSecond * 2) {
    this.#perSecond = perSecond;
    this.#clock = clock;
    // A bucket without room for one token would reject every exchange.
    this.#burst = Math.max(1, burst);
  }

  /** Number of buckets. A full bucket is deleted in time. */
  get size(): number {
    return this.#buckets.size;
  }

  /** @returns 0 when the exchange is permitted, else whole seconds until a retry */
  take(key: string): number {
    if (this.#perSecond === 0) return 0;
    const waitMs = this.waitMs(key);
    if (waitMs > 0) return Math.ceil(waitMs / 1000);
    this.#filled(key).tokens--;
    return 0;
  }

  /** @throws Problem `rate_limited` with the seconds until a retry */
  takeOrRefuse(key: string, message?: string): void {
    const retryAfterS = this.take(key);
    if (retryAfterS > 0) throw new Problem("rate_limited", message, { retryAfterS });
  }

  /** @returns whole ms until `take` succeeds, 0 for now; takes no token */
  waitMs(key: string): number {
    if (this.#perSecond === 0) return 0;
    const missing = 1 - this.#tokens(key);
    return Math.max(0, Math.ceil(((missing - ROUNDING) / this.#perSecond) * 1000));
  }

  /** @returns how many calls of `take` succeed now; takes no token */
  room(key: string): number {
    if (this.#perSecond === 0) return Number.POSITIVE_INFINITY;
    return Math.max(0, Math.floor(this.#tokens(key) + ROUNDING));
  }

  /** Charges for work that turned out to be large. It delays the next exchanges. */
  charge(key: string, tokens: number): void {
    if (this.#perSecond > 0) this.#filled(key).tokens -= tokens;
  }

  #tokens(key: string): number {
    const bucket = this.#buckets.get(key);
    return bucket === undefined ? this.#burst : this.#fill(bucket);
  }

  #filled(key: string): Bucket {
    const known = this.#buckets.get(key);
    if (known !== undefined) {
      this.#fill(known);
      return known;
    }
    this.#forget();
    const bucket = { tokens: this.#burst, filledAt: this.#clock.now() };
    this.#buckets.set(key, bucket);
    return bucket;
  }

  /** @returns the current number of tokens */
  #fill(bucket: Bucket): number {
    const now = this.#clock.now();
    const elapsedS = Math.max(0, now - bucket.filledAt) / 1000;
    bucket.tokens = Math.min(this.#burst, bucket.tokens + elapsedS * this.#perSecond);
    bucket.filledAt = now;
    return bucket.tokens;
  }

  /**
   * Makes room for a key. Checks two buckets in rotation for each new one and deletes idle ones: a
   * full bucket has the same effect as none. Beyond the bound, deletes any bucket.
   */
  #forget(): void {
    for (let step = 0; step < 2; step++) {
      const next = this.#round.next();
      if (next.done === true) {
        this.#round = this.#buckets.entries();
        continue;
      }
      const [key, bucket] = next.value;
      const isIdle = this.#fill(bucket) >= this.#burst;
      if (isIdle || this.#buckets.size >= KEYS_MAX) this.#buckets.delete(key);
    }
  }
}
