/**
 * Keeps the results of calls for frameworks that repeat a step: in the store, or in memory if the
 * store cannot keep results.
 */

import { type ConsumptionStore, MemoryStore } from "./consumption-store.ts";
import { causeOf } from "./network-error.ts";

/** Length limit of a saved result, in UTF-16 code units. */
const RESULT_CHARS_MAX = 1024 * 1024;

export class ResultKeeper {
  readonly #store: Required<Pick<ConsumptionStore, "saveResult" | "loadResult">>;
  readonly #url: string;
  readonly #warn: (message: string) => void;

  constructor(store: ConsumptionStore | undefined, url: string, warn: (message: string) => void) {
    const { saveResult, loadResult } = store ?? {};
    this.#store =
      saveResult === undefined || loadResult === undefined
        ? new MemoryStore()
        : { saveResult: saveResult.bind(store), loadResult: loadResult.bind(store) };
    this.#url = url;
    this.#warn = warn;
  }

  /** @throws never */
  async save(key: string, text: string | undefined): Promise<void> {
    let why = "it is not a JSON value";
    try {
      if (text !== undefined && text.length <= RESULT_CHARS_MAX) {
        return await this.#store.saveResult(recordOf(this.#url, key), text);
      }
      if (text !== undefined) why = `it is longer than ${RESULT_CHARS_MAX} characters`;
    } catch (error) {
      why = causeOf(error);
    }
    this.#warn(`The result of call ${key} was not saved (${why}). A resumed run will not see it.`);
  }

  load(key: string): Promise<string | undefined> {
    return this.#store.loadResult(recordOf(this.#url, key));
  }
}

/** The name of a key's record in a store. */
export function recordOf(url: string, key: string): string {
  return `key ${url} ${key}`;
}
