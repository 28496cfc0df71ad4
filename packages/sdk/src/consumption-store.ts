/**
 * Records the use of an approval before its call starts. No key and no request can then start a
 * second call, even if a provider violates the contract.
 *
 * The store on disk is in file-store.ts.
 */

/** Records which approvals were used, and optionally the results of their calls. */
export interface ConsumptionStore {
  /**
   * Consumes an id permanently. For each id, exactly one call of this method returns `true`, also
   * with concurrent callers in several processes. It must return `true` only for a durable record.
   *
   * In a database, insert into a unique column: return `true` if the row was inserted, `false` if
   * it existed. Reject if the result is unknown; the gate then does not run the call.
   *
   * @param id at most about 3,000 characters
   */
  consume(id: string): Promise<boolean>;

  /** True if the id is consumed. Without this method, a late repetition of a call is `lapsed`. */
  has?(id: string): Promise<boolean>;

  /**
   * Saves the result of the call that consumed the id. Keep it as long as the record of the id. If
   * `saveResult` or `loadResult` is missing, the gate keeps results in memory.
   *
   * @param text at most 1,048,576 UTF-16 code units. It may contain a tool's result, so protect it
   */
  saveResult?(id: string, text: string): Promise<void>;

  /** @returns undefined when no result was saved */
  loadResult?(id: string): Promise<string | undefined>;
}

/** Limit for all results in memory, in UTF-16 code units. The oldest results are deleted first. */
const RESULTS_CHARS_MAX = 16 * 1024 * 1024;

/**
 * Stores records in memory until the process exits. After a restart, it does not know which calls
 * ran. Use it for tests, and for agents that use new keys after every start.
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
