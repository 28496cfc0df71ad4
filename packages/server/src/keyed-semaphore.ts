/**
 * Counts slots by key, with a maximum for each key, one for all keys together, and a rate for each
 * key. It never waits; keyed-queue.ts does. Each process counts for itself.
 */

import type { RateLimiter } from "./rate-limiter.ts";

export interface SemaphoreLimits {
  readonly perKeyMax?: number;
  readonly totalMax?: number;
  /** How often a key acquires a slot. */
  readonly rate?: RateLimiter;
}

export class KeyedSemaphore {
  readonly #perKeyMax: number;
  readonly #totalMax: number;
  readonly #rate: RateLimiter | undefined;
  /** Keys with slots in use; none is kept with 0. */
  readonly #inUse = new Map<string, number>();
  #total = 0;

  constructor({ perKeyMax = Infinity, totalMax = Infinity, rate }: SemaphoreLimits = {}) {
    this.#perKeyMax = perKeyMax;
    this.#totalMax = totalMax;
    this.#rate = rate;
  }

  /** How many keys have slots in use. */
  get size(): number {
    return this.#inUse.size;
  }

  /** Whether no key can acquire a slot. */
  get isFull(): boolean {
    return this.#total >= this.#totalMax;
  }

  inUse(key: string): number {
    return this.#inUse.get(key) ?? 0;
  }

  /** How many times `tryAcquire` succeeds now. */
  room(key: string): number {
    const slots = Math.min(this.#perKeyMax - this.inUse(key), this.#totalMax - this.#total);
    return Math.min(slots, this.#rate?.room(key) ?? Infinity);
  }

  /** @returns ms until the rate permits a slot, 0 for now; Infinity: until a slot is released */
  waitMs(key: string): number {
    if (this.isFull || this.inUse(key) >= this.#perKeyMax) return Infinity;
    return this.#rate?.waitMs(key) ?? 0;
  }

  /** @returns releases the slot, once however often it is called; undefined: no slot is free */
  tryAcquire(key: string): (() => void) | undefined {
    if (this.waitMs(key) > 0) return undefined;
    this.#rate?.take(key);
    this.#add(key, 1);
    let isReleased = false;
    return () => {
      if (!isReleased) this.#add(key, -1);
      isReleased = true;
    };
  }

  #add(key: string, count: number): void {
    this.#total += count;
    const inUse = this.inUse(key) + count;
    if (inUse > 0) this.#inUse.set(key, inUse);
    else this.#inUse.delete(key);
  }
}
