/**
 * Where it is recorded that an approval was used, before the call that it permits may start. With
 * it, no key and no request ever starts a second call, whatever a provider answers.
 *
 * The store on disk is in file-store.ts.
 */

export interface ConsumptionStore {
  /**
   * Takes an id, once and for all. Of all who ever ask for one id, also at the same time and from
   * several processes, exactly one gets `true`, and only when the record outlasts a crash.
   *
   * In a table this is an insert into a unique column: `true` when it inserted, `false` when the
   * id was there. When that is unknown, it must reject: no call runs then.
   *
   * @param id at most some 3,000 characters
   */
  consume(id: string): Promise<boolean>;

  /** True when the id was consumed. Without it, a late repetition of a call is `lapsed`. */
  has?(id: string): Promise<boolean>;

  /**
   * Saves the result of the call that consumed the id, for as long as the record of the id. Without
   * both methods the gate keeps results in memory.
   *
   * @param text at most 1 MiB of UTF-16 code units; may hold what a tool returned, so keep it
   *   private
   */
  saveResult?(id: string, text: string): Promise<void>;

  /** @returns undefined when no result was saved */
  loadResult?(id: string): Promise<string | undefined>;
}

/** In memory, all results together; the oldest are dropped first. */
const RESULTS_CHARS_MAX = 16 * 1024 * 1024;

/**
 * Remembers until the process ends. A process that starts again knows nothing of what it ran
 * before: for tests, and for agents whose keys die with their process.
 */
export class MemoryStore implements ConsumptionStore {
  readonly #ids = new Set<string>();
  readonly #results = new Map<string, string>();
  #resultChars = 0;

  async consume(id: string): Promise<boolean> {
    if (this.#ids.has(id)) return false;
    this.#ids.add(id);
    return true;
  }

  async has(id: string): Promise<boolean> {
    return this.#ids.has(id);
  }

  async saveResult(id: string, text: string): Promise<void> {
    if (this.#results.has(id)) return;
    this.#results.set(id, text);
    this.#resultChars += text.length;
    for (const [oldest, { length }] of this.#results) {
      if (this.#resultChars <= RESULTS_CHARS_MAX) break;
      this.#results.delete(oldest);
      this.#resultChars -= length;
    }
  }

  async loadResult(id: string): Promise<string | undefined> {
    return this.#results.get(id);
  }
}
