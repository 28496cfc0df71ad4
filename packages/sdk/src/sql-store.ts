/**
 * Records used approvals in PostgreSQL or SQLite, through any driver. The primary key of the table
 * lets exactly one caller consume an id.
 *
 * Promises: a resolved `consume` is committed. The store has no dependency on a driver.
 */

import { systemTiming, type Timing } from "./clock.ts";
import type { ConsumptionStore } from "./consumption-store.ts";
import { digestOf } from "./digest.ts";
import { SdkError } from "./errors.ts";
import {
  HourlyPruning,
  PRUNING_OPTIONS,
  type PruningOptions,
  STORE_RETENTION_MS,
} from "./hourly-pruning.ts";
import { assertKnownOptions } from "./known-options.ts";

/** The SQL dialects that a {@link SqlStore} can write. */
export type SqlDialect = "postgres" | "sqlite";

/** Connects a {@link SqlStore} to a database. `postgres` and `sqlite` create it for a driver. */
export interface SqlDatabase {
  /** The SQL dialect. Placeholders are `$1`, `$2` for `postgres` and `?` for `sqlite`. */
  readonly dialect: SqlDialect;
  /**
   * Runs one statement and commits it. Rejects if the statement failed, or if its result is
   * unknown.
   *
   * @returns the rows that the statement returns
   */
  query(text: string, params: readonly string[]): Promise<{ readonly rows: readonly unknown[] }>;
}

/** The part of `pg.Pool` that the store uses. */
export interface PgPool {
  /** Runs one statement, with `$1`, `$2` as placeholders. */
  query(text: string, params: string[]): Promise<{ readonly rows: readonly unknown[] }>;
}

/** The part of `DatabaseSync` (`node:sqlite`) and of `Database` (better-sqlite3) that is used. */
export interface SqliteDatabase {
  /** Compiles one statement, with `?` as placeholders. */
  prepare(text: string): {
    /** better-sqlite3: true if the statement returns rows. Missing in `node:sqlite`. */
    readonly reader?: boolean;
    all(...params: string[]): unknown[];
    run(...params: string[]): unknown;
  };
}

/** Connects a store to a pool of the package `pg`. Do not pass a client inside a transaction. */
export function postgres(pool: PgPool): SqlDatabase {
  return { dialect: "postgres", query: (text, params) => pool.query(text, [...params]) };
}

/** Connects a store to a database of `node:sqlite` or better-sqlite3. */
export function sqlite(database: SqliteDatabase): SqlDatabase {
  return {
    dialect: "sqlite",
    query: async (text, params) => {
      const statement = database.prepare(text);
      if (statement.reader !== false) return { rows: statement.all(...params) };
      statement.run(...params);
      return { rows: [] };
    },
  };
}

/** Options of a {@link SqlStore}. */
export interface SqlStoreOptions extends PruningOptions {
  /**
   * Creates the table at the first use if it does not exist. With `false`, create it yourself from
   * {@link SQL_STORE_SCHEMA}. Default: true.
   */
  readonly createTable?: boolean | undefined;
}

/** The statements that create the table, for both dialects. All are safe to repeat. */
export const SQL_STORE_SCHEMA: readonly string[] = [
  `create table if not exists countersign_consumption (
  id_sha256 text primary key,
  id text not null,
  result text,
  consumed_at_s bigint not null
)`,
  `create index if not exists countersign_consumption_consumed_at
  on countersign_consumption (consumed_at_s)`,
];

/** The database's own time, so that the clocks of several machines need not agree. Unix seconds. */
const NOW_S: Readonly<Record<SqlDialect, string>> = {
  postgres: "cast(extract(epoch from clock_timestamp()) as bigint)",
  sqlite: "cast(strftime('%s', 'now') as integer)",
};

/** A small number, so that a synchronous driver does not block the process for long. */
const PRUNE_ROWS_MAX = 500;

/** Stores used approvals, and results of calls, in the table `countersign_consumption`. */
export class SqlStore implements ConsumptionStore {
  readonly #database: SqlDatabase;
  readonly #pruning: HourlyPruning;
  readonly #timing: Timing;
  readonly #createsTable: boolean;
  #ready: Promise<void> | undefined;

  /**
   * @param database `postgres(pool)`, `sqlite(database)`, or your own {@link SqlDatabase}
   * @throws SdkError `invalid_option` without a query function or with an unknown dialect
   */
  constructor(database: SqlDatabase, options: SqlStoreOptions = {}) {
    if (typeof database?.query !== "function" || NOW_S[database.dialect] === undefined) {
      throw new SdkError(
        "invalid_option",
        "SqlStore needs a database. Use new SqlStore(postgres(pool)), " +
          "new SqlStore(sqlite(database)), or an object with query and dialect.",
      );
    }
    assertKnownOptions("new SqlStore()", options, ["createTable", ...PRUNING_OPTIONS]);
    this.#database = database;
    this.#timing = options.timing ?? systemTiming;
    this.#createsTable = options.createTable ?? true;
    this.#pruning = new HourlyPruning(() => this.prune(), options);
  }

  async consume(id: string): Promise<boolean> {
    const inserted = await this.#query(
      `insert into countersign_consumption (id_sha256, id, consumed_at_s)
      values ($1, $2, ${this.#nowS}) on conflict (id_sha256) do nothing returning id_sha256`,
      await digestOf(id),
      id,
    );
    this.#pruning.start();
    return inserted.length === 1;
  }

  async has(id: string): Promise<boolean> {
    const found = await this.#query(
      "select id_sha256 from countersign_consumption where id_sha256 = $1",
      await digestOf(id),
    );
    return found.length === 1;
  }

  async saveResult(id: string, text: string): Promise<void> {
    await this.#query(
      `update countersign_consumption set result = $1
      where id_sha256 = $2 and result is null returning id_sha256`,
      text,
      await digestOf(id),
    );
  }

  async loadResult(id: string): Promise<string | undefined> {
    const [row] = await this.#query(
      "select result from countersign_consumption where id_sha256 = $1",
      await digestOf(id),
    );
    const { result } = Object(row) as { readonly result?: unknown };
    return typeof result === "string" ? result : undefined;
  }

  /** Deletes records older than eight days. The store calls it itself, at most once an hour. */
  async prune(): Promise<void> {
    for (;;) {
      const deleted = await this.#query(
        `delete from countersign_consumption where id_sha256 in (
          select id_sha256 from countersign_consumption
          where consumed_at_s < ${this.#nowS} - ${STORE_RETENTION_MS / 1_000}
          limit ${PRUNE_ROWS_MAX}
        ) returning id_sha256`,
      );
      if (deleted.length < PRUNE_ROWS_MAX) return;
      await this.#timing.sleep(0);
    }
  }

  get #nowS(): string {
    return NOW_S[this.#database.dialect];
  }

  async #query(text: string, ...params: readonly string[]): Promise<readonly unknown[]> {
    await this.#open();
    return this.#send(text, ...params);
  }

  async #send(text: string, ...params: readonly string[]): Promise<readonly unknown[]> {
    // SQLite would read $1 as the name of a parameter.
    const isSqlite = this.#database.dialect === "sqlite";
    const sql = isSqlite ? text.replaceAll(/\$\d/g, "?") : text;
    const { rows } = await this.#database.query(sql, params);
    return rows;
  }

  #open(): Promise<void> {
    if (!this.#createsTable) return Promise.resolve();
    this.#ready ??= this.#create().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #create(): Promise<void> {
    try {
      for (const statement of SQL_STORE_SCHEMA) await this.#send(statement);
    } catch (error) {
      // Another process creates the table now, or this user can only use it.
      if (!(await this.#hasTable())) throw error;
    }
  }

  async #hasTable(): Promise<boolean> {
    try {
      await this.#send("select id_sha256 from countersign_consumption limit 0");
      return true;
    } catch {
      return false;
    }
  }
}
