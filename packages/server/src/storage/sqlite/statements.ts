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
  /** Names of the columns of a row; empty where no row comes back. */
  readonly columns: readonly string[];
}

type Execute<T> = (prepared: Prepared, bound: readonly SqlValue[]) => T;

const NO_VALUES: readonly SqlValue[] = [];

export class Statements {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, Prepared>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  get(sql: string, values = NO_VALUES): Row | undefined {
    return this.#execute(sql, values, getRow);
  }

  all(sql: string, values = NO_VALUES): Row[] {
    return this.#execute(sql, values, getRows);
  }

  /** @returns how many rows were written */
  run(sql: string, values = NO_VALUES): number {
    return this.#execute(sql, values, run);
  }

  #execute<T>(sql: string, values: readonly SqlValue[], execute: Execute<T>): T {
    try {
      const prepared = this.#prepare(sql);
      const { order } = prepared;
      const bound = order === undefined ? values : order.map((i) => values[i] ?? null);
      return execute(prepared, bound);
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
    const limited = text.replace(/\blimit \?/gi, "limit ? + 0");
    // Without statistics, SQLite can prefer an index that has to read far more. PostgreSQL ignores
    // the comment. A statement that cannot use the index fails.
    const planned = limited.replace(/\/\* (indexed by \w+) \*\//g, "$1");
    const inOrder = order.every((index, i) => index === i);
    const statement = this.#database.prepare(planned);
    statement.setReturnArrays(true);
    const columns = statement.columns().map(({ name }) => name);
    const prepared = { statement, order: inOrder ? undefined : order, columns };
    this.#prepared.set(sql, prepared);
    return prepared;
  }
}

function run({ statement }: Prepared, bound: readonly SqlValue[]): number {
  return Number(statement.run(...bound).changes);
}

function getRow({ statement, columns }: Prepared, bound: readonly SqlValue[]): Row | undefined {
  const values = statement.get(...bound);
  return values === undefined ? undefined : toRow(columns, values);
}

function getRows({ statement, columns }: Prepared, bound: readonly SqlValue[]): Row[] {
  return statement.all(...bound).map((values) => toRow(columns, values));
}

/** The driver's own objects cost half as much again: each makes the names of its columns anew. */
function toRow(columns: readonly string[], values: unknown): Row {
  const row: Record<string, SqlValue> = {};
  for (const [i, name] of columns.entries()) row[name] = (values as SqlValue[])[i] ?? null;
  return row;
}

/** Result codes that mean a wrong statement, not a sick engine: SQLITE_ERROR, _CONSTRAINT, ... */
const BUG_CODES: ReadonlySet<number> = new Set([1, 2, 19, 20, 21, 25]);

function asFailure(error: unknown): unknown {
  if (!(error instanceof Error) || !("errcode" in error)) return error;
  const primary = Number(error.errcode) & 0xff;
  if (BUG_CODES.has(primary)) return error;
  return new Failure("store", `the database failed (${primary})`, error);
}
