/**
 * The clock of the database, which all replicas share, without a query for each read: the local
 * clock plus the offset of the database. Every time that a transaction reads improves the offset,
 * or replaces it after a clock change.
 */

import { type Clock, systemClock } from "../../clock.ts";

export class DatabaseClock implements Clock {
  readonly #own: Clock;
  /** Offset of the database clock, ms. */
  #ahead = 0;

  /** @param own clock of this process */
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

  /** Never coalesced: work at the same time would take more connections of the database at once. */
  coalesced(at: number): number {
    return at;
  }

  /**
   * @param read time of the database, epoch ms
   * @param queriedAt when the query was sent, by the clock of this process; its answer has just
   * arrived
   */
  learn(read: number, queriedAt: number): void {
    // The database read its clock in between. Both clocks truncate to a millisecond.
    const least = read - this.#own.now() - 1;
    const most = read - queriedAt + 1;
    this.#ahead = Math.min(Math.max(this.#ahead, least), most);
  }
}
