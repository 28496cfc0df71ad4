/**
 * The clock of the database, which all replicas share, without asking it for every look: our own
 * clock and how far the database is ahead of it. Every time that a transaction reads narrows that
 * difference down or, when one of the clocks was set, moves it.
 */

import { type Clock, systemClock } from "../../clock.ts";

export class DatabaseClock implements Clock {
  readonly #own: Clock;
  /** How far the database is ahead, ms. */
  #ahead = 0;

  /** @param own of this process */
  constructor(own: Clock = systemClock) {
    this.#own = own;
  }

  now(): number {
    return Math.round(this.#own.now() + this.#ahead);
  }

  monotonic(): number {
    return this.#own.monotonic();
  }

  after(delayMs: number, callback: () => void): () => void {
    return this.#own.after(delayMs, callback);
  }

  /**
   * @param read what the database said, epoch ms
   * @param askedAt when it was asked, by the clock of this process; it answered just now
   */
  learn(read: number, queriedAt: number): void {
    // It read its clock at some time in between; both clocks cut off up to a millisecond.
    const least = read - this.#own.now() - 1;
    const most = read - queriedAt + 1;
    this.#ahead = Math.min(Math.max(this.#ahead, least), most);
  }
}
