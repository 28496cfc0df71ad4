/**
 * Counts slots by key, with a maximum for each key and one for all keys together.
 *
 * Called by: the outbox.
 */

export interface SemaphoreLimits {
  readonly perKeyMax?: number;
  readonly totalMax?: number;
}

export class KeyedSemaphore {
  readonly #perKeyMax: number;
  readonly #totalMax: number;
  /** Keys with slots in use; none is kept with 0. */
  readonly #inUse = new Map<string, number>();
  #total = 0;

  constructor({ perKeyMax = Infinity, totalMax = Infinity }: SemaphoreLimits = {}) {
    this.#perKeyMax = perKeyMax;
    this.#totalMax = totalMax;
  }

  /** Whether no key can acquire a slot. */
  get isFull(): boolean {
    return this.#total >= this.#totalMax;
  }

  inUse(key: string): number {
    return this.#inUse.get(key) ?? 0;
  }

  /** @returns releases the slot, once however often it is called; undefined: no slot is free */
  tryAcquire(key: string): (() => void) | undefined {
    if (this.isFull || this.inUse(key) >= this.#perKeyMax) return undefined;
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
