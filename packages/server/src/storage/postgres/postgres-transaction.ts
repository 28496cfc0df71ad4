/**
 * One run of one transaction's work.
 *
 * Called by: postgres-store.ts.
 */

import type { LockMode, Row, SqlValue, Transaction } from "../store.ts";
import type { Connection } from "./connections.ts";
import { isRetriable, toThrown } from "./errors.ts";
import type { Answer } from "./statement-batch.ts";

/** Reads the time of the database, epoch ms. */
export type ReadTime = (connection: Pick<Connection, "query">) => Promise<number>;

export class PostgresTransaction implements Transaction {
  readonly #connection: Connection;
  readonly #readTime: ReadTime;
  /**
   * What a statement failed with first. PostgreSQL refuses everything after it, and answers a
   * commit by undoing the transaction: the work must not end well, also if it swallowed this.
   */
  fault: { readonly error: unknown } | undefined;
  #ended = false;

  constructor(connection: Connection, readTime: ReadTime) {
    this.#connection = connection;
    this.#readTime = readTime;
  }

  async get(sql: string, values?: readonly SqlValue[]): Promise<Row | undefined> {
    return (await this.#query(sql, values ?? [])).rows[0];
  }

  async all(sql: string, values?: readonly SqlValue[]): Promise<Row[]> {
    return (await this.#query(sql, values ?? [])).rows;
  }

  lock(mode: LockMode, sql: string, values?: readonly SqlValue[]): Promise<Row | undefined> {
    return this.get(`${sql} for ${mode}`, values);
  }

  async run(sql: string, values?: readonly SqlValue[]): Promise<number> {
    // Without values it may be a statement that cannot be prepared, such as those of migrations.
    return (await this.#query(sql, values)).count;
  }

  /** A statement of its own: one that waits for a lock would tell the time before it. */
  now(): Promise<number> {
    return this.#readTime({ query: (sql, values) => this.#query(sql, values) });
  }

  end(): void {
    this.#ended = true;
  }

  async #query(sql: string, values?: readonly SqlValue[]): Promise<Answer> {
    if (this.#ended) throw new Error("a query was sent on a transaction that has ended");
    try {
      return await this.#connection.query(sql, values);
    } catch (error) {
      this.fault ??= { error };
      // Nobody in between may take what is about to be tried again for a failure.
      throw isRetriable(error) ? error : toThrown(error);
    }
  }
}
