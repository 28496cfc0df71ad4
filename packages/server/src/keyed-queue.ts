/**
 * Waiters for slots. Waiters with the same keys are served first in, first out. Different keys
 * alternate. Waiters for missing slots do not delay waiters for other slots.
 *
 * A waiter gets a slot of every semaphore, or none. `SerialQueue` of the outbox uses a semaphore
 * without this queue: it queues rows instead of waiters until they are due.
 */

import { type Clock, systemClock } from "./clock.ts";
import type { KeyedSemaphore } from "./keyed-semaphore.ts";

/** One key for each semaphore, in their order. Keys contain no spaces. */
export type SlotKeys = readonly string[];

export interface QueueOptions {
  /** Serves waiters when the rate of a semaphore permits it. */
  readonly clock?: Clock;
  /** Maximum waiters with the same keys; more are rejected. */
  readonly queuedPerKeyMax?: number;
  /** The error of a rejected waiter. */
  readonly rejection?: () => Error;
}

interface Waiters {
  readonly keys: SlotKeys;
  /** Each acquires the slots for its waiter. */
  readonly starts: Set<() => void>;
}

export class KeyedQueue {
  readonly #semaphores: readonly KeyedSemaphore[];
  readonly #clock: Clock;
  readonly #queuedPerKeyMax: number;
  readonly #rejection: () => Error;
  /** By joined keys, in serving order. No entry is empty. */
  readonly #waiting = new Map<string, Waiters>();
  /** When a rate permits the next waiter a slot, epoch ms. */
  #servedAt = Infinity;
  #cancelTimer = () => {};

  /** @param semaphores used by this queue only: otherwise it would miss releases */
  constructor(semaphores: readonly KeyedSemaphore[], options: QueueOptions = {}) {
    this.#semaphores = semaphores;
    this.#clock = options.clock ?? systemClock;
    this.#queuedPerKeyMax = options.queuedPerKeyMax ?? Infinity;
    this.#rejection = options.rejection ?? (() => new Error("The queue is full."));
  }

  /** Number of waiters. */
  get size(): number {
    return [...this.#waiting.values()].reduce((sum, { starts }) => sum + starts.size, 0);
  }

  /** How many calls of `tryAcquire` succeed now. */
  room(keys: SlotKeys): number {
    this.#serveDue();
    return Math.min(...this.#semaphores.map((semaphore, i) => semaphore.room(keys[i] ?? "")));
  }

  /** @returns function that releases the slots once; undefined when a slot is missing */
  tryAcquire(keys: SlotKeys): (() => void) | undefined {
    this.#serveDue();
    return this.#waitMs(keys) === 0 ? this.#acquire(keys) : undefined;
  }

  /**
   * As `tryAcquire`, but waits in the queue.
   *
   * @returns undefined when the signal was aborted first; no slot is in use then
   * @throws the rejection from the options when too many waiters have these keys
   */
  async acquire(keys: SlotKeys, signal?: AbortSignal): Promise<(() => void) | undefined> {
    if (signal?.aborted) return undefined;
    return this.tryAcquire(keys) ?? this.#enqueue(keys, signal);
  }

  /**
   * Does the work while it has the slots.
   *
   * @throws the reason of the signal when it was aborted first, and as `acquire`
   */
  async run<T>(keys: SlotKeys, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const release = await this.acquire(keys, signal);
    if (release === undefined) throw signal?.reason;
    try {
      return await work();
    } finally {
      release();
    }
  }

  #enqueue(keys: SlotKeys, signal?: AbortSignal): Promise<(() => void) | undefined> {
    const id = keys.join(" ");
    const { starts } = this.#waiting.get(id) ?? { starts: new Set() };
    if (starts.size >= this.#queuedPerKeyMax) throw this.#rejection();
    this.#waiting.set(id, { keys, starts });
    const { promise, resolve } = Promise.withResolvers<(() => void) | undefined>();
    const start = () => {
      signal?.removeEventListener("abort", leave);
      resolve(this.#acquire(keys));
    };
    const leave = () => {
      starts.delete(start);
      if (starts.size === 0) this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#serveAt(Infinity);
      resolve(undefined);
    };
    signal?.addEventListener("abort", leave, { once: true });
    starts.add(start);
    const at = this.#clock.now() + this.#waitMs(keys);
    if (at < this.#servedAt) this.#serveAt(at);
    return promise;
  }

  #waitMs(keys: SlotKeys): number {
    return Math.max(...this.#semaphores.map((semaphore, i) => semaphore.waitMs(keys[i] ?? "")));
  }

  #acquire(keys: SlotKeys): () => void {
    const releases = this.#semaphores.map((semaphore, i) => semaphore.tryAcquire(keys[i] ?? ""));
    return () => {
      for (const release of releases) release?.();
      this.#serve();
    };
  }

  /** A timer may be late. A new caller must not take a slot that a waiter could already have. */
  #serveDue(): void {
    if (this.#clock.now() >= this.#servedAt) this.#serve();
  }

  #serve(): void {
    let nextMs = Infinity;
    for (const [id, { keys, starts }] of this.#waiting) {
      const waitMs = this.#waitMs(keys);
      if (waitMs > 0) {
        nextMs = Math.min(nextMs, waitMs);
        continue;
      }
      const [start] = starts;
      if (start !== undefined) starts.delete(start);
      // Further waiters go to the end, where this loop reaches them again.
      this.#waiting.delete(id);
      if (starts.size > 0) this.#waiting.set(id, { keys, starts });
      start?.();
    }
    this.#serveAt(this.#clock.now() + nextMs);
  }

  #serveAt(at: number): void {
    this.#cancelTimer();
    this.#servedAt = at;
    if (at === Infinity) return;
    const delayMs = Math.max(0, at - this.#clock.now());
    this.#cancelTimer = this.#clock.after(delayMs, () => this.#serve());
  }
}
