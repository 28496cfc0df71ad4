/**
 * Counts slots by key. It limits each key, all keys together, and the rate of each key. It never
 * waits; keyed-queue.ts does. Each process counts its own slots.
 */

import type { RateLimiter } from "./rate-limiter.ts";

export interface SemaphoreLimits {
  readonly perKeyMax?: number;
  readonly totalMax?: number;
  /** Rate at which a key acquires slots. */
  readonly rate?: RateLimiter;
}

export class KeyedSemaphore {
  readonly #perKeyMax: number;
  readonly #totalMax: number;
  readonly #rate: RateLimiter | undefined;
  /** Keys with slots in use. No entry is 0. */
  readonly #inUse = new Map<string, number>();
  #total = 0;

  constructor({ perKeyMax = Infinity, totalMax = Infinity, rate }: SemaphoreLimits = {}) {
    this.#perKeyMax = perKeyMax;
    this.#totalMax = totalMax;
    this.#rate = rate;
  }

  /** Number of keys with slots in use. */
  get size(): number {
    return this.#inUse.size;
  }

  /** True when no key can acquire a slot. */
  get isFull(): boolean {
    return this.#total >= this.#totalMax;
  }

  inUse(key: string): number {
    return this.#inUse.get(key) ?? 0;
  }

  /** How many calls of `tryAcquire` succeed now. */
  room(key: string): number {
    const slots = Math.min(this.#perKeyMax - this.inUse(key), this.#totalMax - this.#total);
    return Math.min(slots, this.#rate?.room(key) ?? Infinity);
  }

  /** @returns ms until the rate permits a slot, 0 for now; Infinity: until a slot is released */
  waitMs(key: string): number {
    if (this.isFull || this.inUse(key) >= this.#perKeyMax) return Infinity;
    return this.#rate?.waitMs(key) ?? 0;
  }

  /** @returns function that releases the slot once; undefined when no slot is free */
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
