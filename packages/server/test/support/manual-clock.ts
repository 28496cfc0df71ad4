import type { Clock } from "../../src/clock.ts";

/** A clock that advances only when a test moves it. */
export class ManualClock implements Clock {
  #now: number;
  #monotonic = 0;
  readonly #timers = new Set<{ readonly at: number; readonly callback: () => void }>();

  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.#now + delayMs, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Tests see the exact interval of each job. */
  coalesced(at: number): number {
    return at;
  }

  /** How many calls are waited for. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Moves time and calls back, in order, everything that falls due on the way. */
  advance(ms: number): void {
    const target = this.#now + ms;
    this.#monotonic += ms;
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= target);
      const next = due.sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
    }
    this.#now = target;
  }

  /** Lets time pass without calling anybody back, as it does for a process that is stopped. */
  stop(ms: number): void {
    this.#monotonic += ms;
    this.#now += ms;
  }

  /** Sets the time without calling anybody back, as an operator's `date` would. */
  set(now: number): void {
    this.#now = now;
  }
}
