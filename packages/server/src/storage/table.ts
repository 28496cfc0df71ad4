/**
 * Tables as data, for what goes through all of them: whichever migrations have made them.
 */

import { createHash } from "node:crypto";
import type { Row, SqlValue } from "./store.ts";

export type ColumnType = "text" | "bigint";

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
}

export interface Table {
  readonly name: string;
  /** By name: the engines may have them in another order. */
  readonly columns: readonly Column[];
  /** Columns of the primary key. */
  readonly key: readonly Column[];
  /** Names of the tables whose rows must be there first. */
  readonly references: readonly string[];
}

/**
 * Tables that the migrations fill themselves, so that they are in a new database already. Nothing
 * in them is of any other place.
 */
export const FILLED_BY_MIGRATIONS: readonly string[] = ["health", "schema_version"];

/** @returns the tables so that each comes after those that it references */
export function inForeignKeyOrder(tables: readonly Table[]): Table[] {
  const ordered = new Set<Table>();
  let left = [...tables];
  while (left.length > 0) {
    const names = left.map(({ name }) => name);
    const isFree = ({ name, references }: Table) =>
      references.every((other) => other === name || !names.includes(other));
    const free = left.filter(isFree);
    if (free.length === 0) throw new Error(`tables reference each other: ${names.join(", ")}`);
    for (const table of free) ordered.add(table);
    left = left.filter((table) => !ordered.has(table));
  }
  return [...ordered];
}

/** Digest of a table: equal when the rows, their order and every value are equal. */
export interface Content {
  readonly table: string;
  readonly rows: number;
  /** SHA-256 in hex. */
  readonly digest: string;
}

/** Computes the {@link Content} of rows that come in the order of their key, by its bytes. */
export class ContentDigest {
  readonly #table: Table;
  readonly #hash = createHash("sha256");
  #rows = 0;

  constructor(table: Table) {
    this.#table = table;
  }

  add(row: Row): void {
    this.#rows++;
    this.#hash.update(`${JSON.stringify(valuesOf(this.#table, row))}\n`);
  }

  /** To be called once, after the last row. */
  end(): Content {
    return { table: this.#table.name, rows: this.#rows, digest: this.#hash.digest("hex") };
  }
}

/** One digest over all tables, in the order of their names. */
export function digestOf(contents: readonly Content[]): string {
  const lines = contents.map(({ table, rows, digest }) => `${table} ${rows} ${digest}\n`);
  return createHash("sha256").update(lines.sort().join("")).digest("hex");
}

/** Values that identify a row in messages: its id, or else its key without the project. */
export function nameOf({ columns, key }: Table, row: Row): string[] {
  const ids = columns.filter(({ name }) => name === "id");
  const shown = ids.length > 0 ? ids : key.filter(({ name }) => name !== "project_id");
  return shown.map(({ name }) => String(row[name]));
}

/** In the order of the columns of the table. */
export function valuesOf({ columns }: Table, row: Row): SqlValue[] {
  return columns.map(({ name }) => row[name] ?? null);
}

/** About how much memory a row takes, in characters. */
export function sizeOf({ columns }: Table, row: Row): number {
  let size = 0;
  for (const { name } of columns) {
    const value = row[name];
    size += typeof value === "string" ? value.length : 8;
  }
  return size;
}
