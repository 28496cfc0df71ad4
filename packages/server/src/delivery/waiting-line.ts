/**
 * Places that are bounded by number and by rate under several keys at once, and the line of those
 * who wait for one.
 *
 * Called by: DestinationLimits.
 */

import type { Clock } from "../clock.ts";
import type { RateLimiter } from "../rate-limiter.ts";

/** So many places for each key, and so many a second. */
export class Bound {
  readonly #placesMax: number;
  readonly #rates: RateLimiter;
  /** Keys with places taken; none is kept with 0. */
  readonly #taken = new Map<string, number>();

  constructor(placesMax: number, rates: RateLimiter) {
    this.#placesMax = placesMax;
    this.#rates = rates;
  }

  /** How many keys have places taken. */
  get size(): number {
    return this.#taken.size;
  }

  /** How many may enter right now. */
  room(key: string): number {
    const places = this.#placesMax - (this.#taken.get(key) ?? 0);
    return Math.min(Math.max(0, places), this.#rates.room(key));
  }

  /** @returns ms after which one may enter, 0 for now, Infinity for when somebody leaves */
  waitMs(key: string): number {
    const isFull = (this.#taken.get(key) ?? 0) >= this.#placesMax;
    return isFull ? Number.POSITIVE_INFINITY : this.#rates.waitMs(key);
  }

  enter(key: string): void {
    this.#rates.take(key);
    this.#taken.set(key, (this.#taken.get(key) ?? 0) + 1);
  }

  leave(key: string): void {
    const rest = (this.#taken.get(key) ?? 0) - 1;
    if (rest > 0) this.#taken.set(key, rest);
    else this.#taken.delete(key);
  }
}

/** What one who enters takes a place of: of all of it, or of nothing. */
export type Entry = readonly { readonly bound: Bound; readonly key: string }[];

interface Waiter {
  readonly entry: Entry;
  /** Called when all of it has a place. */
  readonly enter: () => void;
}

/**
 * Those who wait, in the order in which they came. Whenever places may have become free, by
 * leaving or by time, everybody is looked at in that order: nobody is overtaken by one who waits
 * for the same, nor holds up one who waits for something else.
 */
export class Line {
  readonly #clock: Clock;
  readonly #waiting = new Set<Waiter>();
  /** When time alone lets somebody in. */
  #servedAt = Number.POSITIVE_INFINITY;
  #cancel = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /** How many times `tryEnter` would succeed right now. */
  room(entry: Entry): number {
    this.#serveDue();
    return Math.min(...entry.map(({ bound, key }) => bound.room(key)));
  }

  /** @returns leaves; to leave twice is harmless */
  tryEnter(entry: Entry): (() => void) | undefined {
    this.#serveDue();
    return waitMs(entry) === 0 ? this.#enter(entry) : undefined;
  }

  /** @returns undefined when the signal was aborted first; who left in time has taken nothing */
  enter(entry: Entry, signal: AbortSignal): Promise<(() => void) | undefined> {
    if (signal.aborted) return Promise.resolve(undefined);
    const leave = this.tryEnter(entry);
    if (leave !== undefined) return Promise.resolve(leave);
    return new Promise((resolve) => {
      const waiter = {
        entry,
        enter: () => {
          signal.removeEventListener("abort", giveUp);
          resolve(this.#enter(entry));
        },
      };
      const giveUp = () => {
        this.#waiting.delete(waiter);
        if (this.#waiting.size === 0) this.#sleep(Number.POSITIVE_INFINITY);
        resolve(undefined);
      };
      signal.addEventListener("abort", giveUp, { once: true });
      this.#waiting.add(waiter);
      const at = this.#clock.now() + waitMs(entry);
      if (at < this.#servedAt) this.#sleep(at);
    });
  }

  #enter(entry: Entry): () => void {
    for (const { bound, key } of entry) bound.enter(key);
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      for (const { bound, key } of entry) bound.leave(key);
      this.#serve();
    };
  }

  /** A timer may be late, and who comes now must not take what those in line wait for. */
  #serveDue(): void {
    if (this.#clock.now() >= this.#servedAt) this.#serve();
  }

  #serve(): void {
    if (this.#waiting.size === 0) return;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const waiter of this.#waiting) {
      const ms = waitMs(waiter.entry);
      if (ms > 0) {
        nextMs = Math.min(nextMs, ms);
        continue;
      }
      this.#waiting.delete(waiter);
      waiter.enter();
    }
    this.#sleep(this.#clock.now() + nextMs);
  }

  /** @param at epoch ms, Infinity for as long as nobody leaves */
  #sleep(at: number): void {
    this.#cancel();
    this.#servedAt = at;
    if (at === Number.POSITIVE_INFINITY) return;
    this.#cancel = this.#clock.after(Math.max(0, at - this.#clock.now()), () => this.#serve());
  }
}

/** @returns ms after which every bound has a place, Infinity for when somebody leaves */
function waitMs(entry: Entry): number {
  let ms = 0;
  for (const { bound, key } of entry) {
    ms = Math.max(ms, bound.waitMs(key));
    if (ms === Number.POSITIVE_INFINITY) break;
  }
  return ms;
}
