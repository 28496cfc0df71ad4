/**
 * Looks that may have to go through very much: of one owner they are done one after another, so
 * that whoever sends many at once waits for their own, and leaves the others their turns.
 *
 * Called by: history-handlers.ts. Counted by each process for itself.
 */

import { Problem } from "@countersign/protocol";

/** Of one owner; more than somebody has open in the tabs of a browser. */
const WAITING_MAX = 20;

const RETRY_S = 1;

export class LookLine {
  /** Those who wait, by owner, in their order; an owner is there while one of theirs is done. */
  readonly #waiting = new Map<string, Set<() => void>>();

  /**
   * @param gone aborted when nobody waits for it any more: then it is not begun
   * @returns what the look finds, when it is its turn
   * @throws Problem `rate_limited` while too many of this owner wait
   * @throws the reason of `gone`
   */
  async run<T>(owner: string, gone: AbortSignal, look: () => Promise<T>): Promise<T> {
    await this.#turn(owner, gone);
    try {
      return await look();
    } finally {
      this.#pass(owner);
    }
  }

  async #turn(owner: string, gone: AbortSignal): Promise<void> {
    gone.throwIfAborted();
    const waiting = this.#waiting.get(owner);
    if (waiting === undefined) {
      this.#waiting.set(owner, new Set());
      return;
    }
    if (waiting.size >= WAITING_MAX) {
      const message = "Too many looks of yours at the history are waiting for each other.";
      throw new Problem("rate_limited", message, { retryAfterS: RETRY_S });
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => {
      waiting.delete(resolve);
      reject(gone.reason);
    };
    waiting.add(resolve);
    gone.addEventListener("abort", leave, { once: true });
    await promise;
    gone.removeEventListener("abort", leave);
  }

  #pass(owner: string): void {
    const waiting = this.#waiting.get(owner);
    const [next] = waiting ?? [];
    if (next === undefined) {
      this.#waiting.delete(owner);
      return;
    }
    waiting?.delete(next);
    next();
  }
}
