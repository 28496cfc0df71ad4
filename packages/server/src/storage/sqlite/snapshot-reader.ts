/**
 * Reads of committed rows. All reads of one event loop iteration share one snapshot,
 * because taking one (locks between processes) costs as much as reading a row.
 */

import type { DatabaseSync } from "node:sqlite";
import type { Row, SqlValue } from "../store.ts";
import { Statements } from "./statements.ts";

export class SnapshotReader {
  readonly #database: DatabaseSync;
  readonly #statements: Statements;
  #isOpen = false;

  constructor(database: DatabaseSync) {
    database.exec("pragma query_only = on");
    this.#database = database;
    this.#statements = new Statements(database);
  }

  get(sql: string, values?: readonly SqlValue[]): Row | undefined {
    this.#begin();
    return this.#statements.get(sql, values);
  }

  all(sql: string, values?: readonly SqlValue[]): Row[] {
    this.#begin();
    return this.#statements.all(sql, values);
  }

  /** The next read sees what is committed by then. Called after every commit of ours. */
  refresh(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    // A failed statement may have ended the transaction already. Nothing was written, and after
    // a read of a damaged page only a rollback succeeds.
    if (this.#database.isTransaction) this.#statements.run("rollback");
  }

  close(): void {
    this.refresh();
    this.#database.close();
  }

  #begin(): void {
    if (this.#isOpen) return;
    this.#statements.run("begin");
    this.#isOpen = true;
    setImmediate(() => this.refresh());
  }
}
