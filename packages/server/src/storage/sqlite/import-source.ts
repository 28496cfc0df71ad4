/**
 * A database file as it is read from end to end: one snapshot, row by row, and nothing is taken
 * for granted that a damaged file may break.
 */

import { DatabaseSync, type StatementSync } from "node:sqlite";
import { Failure } from "../../failure.ts";
import type { Row, SqlValue } from "../store.ts";
import {
  type Column,
  type ColumnType,
  FILLED_BY_MIGRATIONS,
  nameOf,
  type Table,
} from "../table.ts";

/** U+FFFD in a text that was read: possibly bytes that are not valid UTF-8. */
const REPLACEMENT = "\ufffd";

const TYPES: ReadonlySet<string> = new Set<ColumnType>(["text", "bigint"]);

export class ImportSource {
  /** All that neither the migrations nor the server fill, in no particular order. */
  readonly tables: readonly Table[];
  readonly #database: DatabaseSync;
  readonly #file: string;

  /**
   * No process may write to it meanwhile: the caller holds the lock of its folder, if it has one.
   *
   * @throws Failure when the file is damaged or not a database; it is checked from end to end
   */
  constructor(file: string) {
    this.#file = file;
    this.#database = openReading(file);
    try {
      this.#assertSound();
      this.tables = this.#readTables();
    } catch (error) {
      this.#database.close();
      throw error instanceof Failure ? error : unreadable(file, error);
    }
  }

  /** The first row, of a statement without parameters. */
  get(sql: string): Row | undefined {
    return this.#guard(() => this.#database.prepare(sql).get() as Row | undefined);
  }

  count({ name }: Table): number {
    return Number(this.get(`select count(*) as n from "${name}"`)?.n);
  }

  /**
   * In the order of their key, by its bytes.
   *
   * @throws Failure when a page is damaged, or a number is larger than any that is written
   */
  *rows(table: Table): Generator<Row> {
    const { name, columns, key } = table;
    const sql = `select ${namesOf(columns)} from "${name}" order by ${namesOf(key)}`;
    const rows = this.#database.prepare(sql).iterate();
    for (;;) {
      const next = this.#guard(() => rows.next(), name);
      if (next.done === true) return;
      yield next.value as Row;
    }
  }

  /** Keys of the rows that reference something which is not there, with what that is. */
  orphans(table: Table): { readonly key: readonly string[]; readonly reason: string }[] {
    const found = this.#database.prepare("select * from pragma_foreign_key_check(?)");
    const row = this.#database.prepare(`select * from "${table.name}" where rowid = ?`);
    return this.#guard(() =>
      found.all(table.name).map(({ rowid = null, parent }) => ({
        key: nameOf(table, (row.get(rowid) ?? {}) as Row),
        reason: `the ${parent} that it belongs to is missing`,
      })),
    );
  }

  /** @returns finds out why rows of a table cannot be stored elsewhere as they are, if so */
  faultFinder(table: Table): (row: Row) => string | undefined {
    const bytes = this.#bytesReader(table);
    return (row) => {
      for (const { name, type } of table.columns) {
        const value = row[name] ?? null;
        if (value === null) continue;
        const expected = type === "text" ? "string" : "number";
        // Blobs and fractions come here as well: SQLite takes anything anywhere.
        if (typeof value !== expected || !isWhole(value)) return `${name} is no ${type}`;
        if (typeof value !== "string") continue;
        if (value.includes("\u0000")) return `${name} holds the character U+0000`;
        if (value.includes(REPLACEMENT) && !Buffer.from(value).equals(bytes(name, row))) {
          return `${name} is not UTF-8`;
        }
      }
      return undefined;
    };
  }

  /** Ends the snapshot. */
  close(): void {
    this.#database.close();
  }

  #bytesReader({ name, key }: Table): (column: string, row: Row) => Uint8Array {
    const prepared = new Map<string, StatementSync>();
    const condition = key.map((column) => `"${column.name}" is ?`).join(" and ");
    return (column, row) => {
      const sql = `select cast("${column}" as blob) as bytes from "${name}" where ${condition}`;
      const statement = prepared.get(column) ?? this.#database.prepare(sql);
      prepared.set(column, statement);
      const values = key.map((each) => row[each.name] ?? null);
      return (statement.get(...values)?.bytes ?? new Uint8Array()) as Uint8Array;
    };
  }

  #assertSound(): void {
    const verdict = this.#database.prepare("pragma integrity_check(1)").get()?.integrity_check;
    if (verdict !== "ok") throw damaged(this.#file, String(verdict).split("\n").at(-1));
  }

  #readTables(): Table[] {
    const sql =
      "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'" +
      // The server fills the search index again.
      " and name not like 'search_%'";
    return this.#database
      .prepare(sql)
      .all()
      .map(({ name }) => String(name))
      .filter((name) => !FILLED_BY_MIGRATIONS.includes(name))
      .map((name) => this.#readTable(name));
  }

  #readTable(name: string): Table {
    const info = this.#database.prepare("select name, type, pk from pragma_table_info(?)");
    const found = info.all(name).map((column) => ({ ...column, position: Number(column.pk) }));
    const toColumn = (column: Record<string, unknown>): Column => {
      const type = String(column.type).toLowerCase();
      if (!TYPES.has(type)) throw new Error(`column ${column.name} of ${name} has type ${type}`);
      return { name: String(column.name), type: type as ColumnType };
    };
    const columns = found.map(toColumn).sort((a, b) => (a.name < b.name ? -1 : 1));
    const inKey = found.filter(({ position }) => position > 0);
    const key = inKey.sort((a, b) => a.position - b.position).map(toColumn);
    if (key.length === 0) throw new Error(`table ${name} has no primary key`);
    const foreign = this.#database.prepare('select "table" from pragma_foreign_key_list(?)');
    const references = foreign.all(name).map((row) => String(row.table));
    return { name, columns, key, references };
  }

  #guard<T>(read: () => T, table?: string): T {
    try {
      return read();
    } catch (error) {
      if (isNumberTooLarge(error)) {
        throw new Failure("store", `table ${table}: a stored number is too large`, error);
      }
      throw unreadable(this.#file, error);
    }
  }
}

/** Reads only, from a snapshot that lasts until it is closed. */
function openReading(file: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    // Open for writing, because the log that a killed server left must be gone through first.
    database = new DatabaseSync(file, { timeout: 5_000 });
    database.exec(
      "pragma query_only = on; pragma trusted_schema = off; pragma temp_store = memory",
    );
    database.exec("begin");
    database.prepare("select count(*) from sqlite_schema").get();
    return database;
  } catch (error) {
    database?.close();
    throw unreadable(file, error);
  }
}

function isWhole(value: SqlValue): boolean {
  return typeof value !== "number" || Number.isSafeInteger(value);
}

function isNumberTooLarge(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_OUT_OF_RANGE";
}

function unreadable(file: string, error: unknown): Failure {
  return damaged(file, error instanceof Error ? error.message : String(error), error);
}

function damaged(file: string, reason: string | undefined, cause?: unknown): Failure {
  return new Failure("store", `the database ${file} cannot be read: ${reason}`, cause);
}

function namesOf(columns: readonly Column[]): string {
  return columns.map(({ name }) => `"${name}"`).join(", ");
}
