/**
 * How many of something long run at the same time: each takes what the process has left over, and
 * two of one owner would tell the same.
 *
 * Called by: the routes of simulations, exports and verifications. Counted by each process for
 * itself.
 */

import { Problem } from "@countersign/protocol";

const RETRY_S = 5;

export interface RunSlot {
  /** Aborted, with what to tell, when the server stops. */
  readonly signal: AbortSignal;
  release(): void;
}

/** Subjects of the sentences with which somebody is refused. */
interface Told {
  /** Like `An export of yours`. */
  readonly own: string;
  /** Like `Too many exports`. */
  readonly others: string;
}

export class RunSlots {
  readonly #told: Told;
  readonly #max: number;
  readonly #taken = new Map<string, AbortController>();

  /** @param max of all owners together */
  constructor(told: Told, max: number) {
    this.#told = told;
    this.#max = max;
  }

  /**
   * @param owner one at a time
   * @throws Problem `rate_limited` while one of this owner runs, `unavailable` while too many of
   *   others do
   */
  take(owner: string): RunSlot {
    if (this.#taken.has(owner)) {
      const message = `${this.#told.own} is running; wait for its end.`;
      throw new Problem("rate_limited", message, { retryAfterS: RETRY_S });
    }
    if (this.#taken.size >= this.#max) {
      const message = `${this.#told.others} are running.`;
      throw new Problem("unavailable", message, { retryAfterS: RETRY_S });
    }
    const controller = new AbortController();
    this.#taken.set(owner, controller);
    return { signal: controller.signal, release: () => this.#taken.delete(owner) };
  }

  /** Ends them all. */
  stop(): void {
    const reason = new Problem("unavailable", "The server is stopping.", { retryAfterS: RETRY_S });
    for (const controller of this.#taken.values()) controller.abort(reason);
  }
}
