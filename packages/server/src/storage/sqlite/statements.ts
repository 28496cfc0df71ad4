/**
 * Prepared statements of one connection, by their text.
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { Failure } from "../../failure.ts";
import type { Row, SqlValue } from "../store.ts";

interface Prepared {
  readonly statement: StatementSync;
  /** Index into the caller's values for each `?`, or undefined when they are in order. */
  readonly order: readonly number[] | undefined;
}

const NO_VALUES: readonly SqlValue[] = [];

export class Statements {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, Prepared>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  get(sql: string, values = NO_VALUES): Row | undefined {
    return this.#execute(sql, values, (statement, bound) => statement.get(...bound)) as
      | Row
      | undefined;
  }

  all(sql: string, values = NO_VALUES): Row[] {
    return this.#execute(sql, values, (statement, bound) => statement.all(...bound)) as Row[];
  }

  run(sql: string, values = NO_VALUES): number {
    const { changes } = this.#execute(sql, values, (statement, bound) => statement.run(...bound));
    return Number(changes);
  }

  #execute<T>(
    sql: string,
    values: readonly SqlValue[],
    execute: (statement: StatementSync, bound: readonly SqlValue[]) => T,
  ): T {
    try {
      const { statement, order } = this.#prepare(sql);
      const bound = order === undefined ? values : order.map((i) => values[i] ?? null);
      return execute(statement, bound);
    } catch (error) {
      throw asFailure(error);
    }
  }

  #prepare(sql: string): Prepared {
    const known = this.#prepared.get(sql);
    if (known !== undefined) return known;
    // `$2` is PostgreSQL's spelling; SQLite binds bare `?` fastest, in order of appearance.
    const order: number[] = [];
    const text = sql.replace(/\$(\d+)/g, (_, number: string) => {
      order.push(Number(number) - 1);
      return "?";
    });
    // A bare parameter as limit is part of the plan: SQLite would compile anew for every value.
    const planned = text.replace(/\blimit \?/gi, "limit ? + 0");
    const inOrder = order.every((index, i) => index === i);
    const prepared = {
      statement: this.#database.prepare(planned),
      order: inOrder ? undefined : order,
    };
    this.#prepared.set(sql, prepared);
    return prepared;
  }
}

/** Result codes that mean a wrong statement, not a sick engine: SQLITE_ERROR, _CONSTRAINT, ... */
const BUG_CODES: ReadonlySet<number> = new Set([1, 2, 19, 20, 21, 25]);

function asFailure(error: unknown): unknown {
  if (!(error instanceof Error) || !("errcode" in error)) return error;
  const primary = Number(error.errcode) & 0xff;
  if (BUG_CODES.has(primary)) return error;
  return new Failure("store", `the database failed (${primary})`, error);
}
