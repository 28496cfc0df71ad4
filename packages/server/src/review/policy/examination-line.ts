/**
 * Policies are examined one after another, each project in turn: a test may take as long as an
 * evaluation may, there are up to a thousand of them, and many at the same time would leave no turn
 * to those whose calls wait for an answer.
 *
 * Called by: examination-lines.ts. Counted by each process for itself.
 */

import { Problem } from "@countersign/protocol";

/** Of one project. */
const WAITING_MAX = 20;

const RETRY_S = 5;

export class ExaminationLine {
  /** By project, in the order of their turns; none is empty. */
  readonly #waiting = new Map<string, (() => Promise<void>)[]>();
  #isWorking = false;

  /**
   * @returns what the work does, when it is its turn
   * @throws Problem `rate_limited` while too many of this project wait
   */
  run<T>(projectId: string, work: () => Promise<T>): Promise<T> {
    const own = this.#waiting.get(projectId) ?? [];
    if (own.length >= WAITING_MAX) {
      const message = "Too many policies of this project are being examined.";
      throw new Problem("rate_limited", message, { retryAfterS: RETRY_S });
    }
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    own.push(() => work().then(resolve, reject));
    this.#waiting.set(projectId, own);
    if (!this.#isWorking) this.#work();
    return promise;
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    for (let [first] = this.#waiting; first !== undefined; [first] = this.#waiting) {
      const [projectId, own] = first;
      const next = own.shift();
      // Behind those of other projects.
      this.#waiting.delete(projectId);
      if (own.length > 0) this.#waiting.set(projectId, own);
      await next?.();
    }
    this.#isWorking = false;
  }
}
