/**
 * Gathers lookups outside of transactions from one event loop iteration, over all exchanges: they
 * are sent to the database in one message, on one connection. A message costs both sides more than
 * such a lookup.
 */

import type { SqlValue } from "../store.ts";
import type { Connection } from "./connections.ts";
import type { Answer } from "./statement-batch.ts";

/** Limits how long the first one waits for the last one. */
const LOOKUPS_MAX = 64;

interface Lookup {
  readonly sql: string;
  readonly values: readonly SqlValue[];
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

export class GatheredLookups {
  readonly #take: () => Promise<Connection>;
  #waiting: Lookup[] = [];

  /** @param take provides a connection, or throws a Failure */
  constructor(take: () => Promise<Connection>) {
    this.#take = take;
  }

  /**
   * @throws Failure when no connection is available; any other error may be of this lookup, another
   * one or the connection: retry it alone
   */
  read(sql: string, values: readonly SqlValue[]): Promise<Answer> {
    return new Promise((resolve, reject) => {
      // After the poll phase, so that everything from one event loop iteration is sent together.
      if (this.#waiting.length === 0) setImmediate(() => this.#send());
      this.#waiting.push({ sql, values, resolve, reject });
    });
  }

  #send(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let from = 0; from < waiting.length; from += LOOKUPS_MAX) {
      const lookups = waiting.slice(from, from + LOOKUPS_MAX);
      this.#sendTogether(lookups).catch((error: unknown) => {
        for (const { reject } of lookups) reject(error);
      });
    }
  }

  async #sendTogether(lookups: readonly Lookup[]): Promise<void> {
    const connection = await this.#take();
    const sent = lookups.map(({ sql, values }) => connection.query("read", sql, values));
    const answers = await Promise.allSettled(sent);
    const failed = answers.find((answer) => answer.status === "rejected");
    connection.release(failed?.reason);
    for (const [i, { resolve, reject }] of lookups.entries()) {
      const answer = answers[i];
      if (answer?.status === "fulfilled") resolve(answer.value);
      else reject(answer?.reason);
    }
  }
}
