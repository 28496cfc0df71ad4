/**
 * Where it is recorded that an approval was used, before the call that it permits may start. With
 * it, no key and no request ever starts a second call, whatever a provider answers.
 *
 * Called by: the gate. The store on disk is in file-store.ts.
 */

export interface ConsumptionStore {
  /**
   * Takes an id, once and for all. Of all who ever ask for one id, also at the same time and from
   * several processes, exactly one gets `true`, and only when the record outlasts a crash.
   *
   * In a table this is an insert into a unique column: `true` when it inserted, `false` when the
   * id was there. When it cannot be told which, it must reject: no call runs then.
   *
   * @param id at most some 3,000 characters
   */
  consume(id: string): Promise<boolean>;
}

/**
 * Remembers until the process ends. A process that starts again knows nothing of what it ran
 * before: for tests, and for agents whose keys die with their process.
 */
export class MemoryStore implements ConsumptionStore {
  readonly #ids = new Set<string>();

  async consume(id: string): Promise<boolean> {
    if (this.#ids.has(id)) return false;
    this.#ids.add(id);
    return true;
  }
}
