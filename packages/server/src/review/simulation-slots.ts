/**
 * How many simulations run at the same time: they take what the process has left over, and two of
 * one project would tell the same.
 *
 * Called by: policy-routes.ts. Counted by each process for itself.
 */

import { Problem } from "@countersign/protocol";

/** Of all projects. */
const AT_ONCE_MAX = 2;

const RETRY_S = 5;

export interface SimulationSlot {
  /** Aborted, with what to tell, when the server stops. */
  readonly signal: AbortSignal;
  release(): void;
}

export class SimulationSlots {
  readonly #taken = new Map<string, AbortController>();

  /**
   * @throws Problem `rate_limited` while one of this project runs, `unavailable` while too many of
   *   others do
   */
  take(projectId: string): SimulationSlot {
    if (this.#taken.has(projectId)) {
      const message = "A simulation of this project is running; wait for its end.";
      throw new Problem("rate_limited", message, { retryAfterS: RETRY_S });
    }
    if (this.#taken.size >= AT_ONCE_MAX) {
      const message = "Too many simulations of other projects are running.";
      throw new Problem("unavailable", message, { retryAfterS: RETRY_S });
    }
    const controller = new AbortController();
    this.#taken.set(projectId, controller);
    return { signal: controller.signal, release: () => this.#taken.delete(projectId) };
  }

  /** Ends them all. */
  stop(): void {
    const reason = new Problem("unavailable", "The server is stopping.", { retryAfterS: RETRY_S });
    for (const controller of this.#taken.values()) controller.abort(reason);
  }
}
