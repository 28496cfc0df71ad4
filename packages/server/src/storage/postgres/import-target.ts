/** Writes and reads complete tables of PostgreSQL, a few megabytes at a time. */

import { Failure } from "../../failure.ts";
import type { Row, SqlValue, Transaction } from "../store.ts";
import { type Column, type Table, valuesOf } from "../table.ts";

const COLUMNS = `select table_name, column_name, data_type from information_schema.columns
  where table_schema = current_schema()`;

/** @returns the columns missing in the target, like `request.note`; empty when none is missing */
export async function missingColumns(
  tx: Transaction,
  tables: readonly Table[],
): Promise<readonly string[]> {
  const there = (await tx.all(COLUMNS)).map(
    (row) => `${row.table_name}.${row.column_name} ${row.data_type}`,
  );
  return tables.flatMap(({ name: table, columns }) =>
    columns
      .filter(({ name, type }) => !there.includes(`${table}.${name} ${type}`))
      .map(({ name }) => `${table}.${name}`),
  );
}

export async function countRows(tx: Transaction, { name }: Table): Promise<number> {
  return Number((await tx.get(`select count(*) as n from "${name}"`))?.n);
}

/**
 * One array for each column, so that one prepared statement inserts any number of rows.
 *
 * @throws Failure when a trigger of the target rejects rows
 */
export async function insertRows(
  tx: Transaction,
  table: Table,
  rows: readonly Row[],
): Promise<void> {
  const arrays = table.columns.map(({ type }, i) => `$${i + 1}::${type}[]`);
  const sql = `insert into "${table.name}" (${namesOf(table.columns)})
    select * from unnest(${arrays.join(", ")})`;
  const written = await tx.run(sql, columnArrays(table, rows));
  if (written === rows.length) return;
  throw new Failure("import", `table ${table.name} took ${written} of ${rows.length} rows`);
}

/**
 * In the byte order of their key, with any collation of the database.
 *
 * @param pageRows maximum rows in memory
 */
export async function* readRows(
  tx: Transaction,
  { name, columns, key }: Table,
  pageRows: number,
): AsyncGenerator<Row> {
  const order = key.map((column) => {
    return column.type === "text" ? `"${column.name}" collate "C"` : `"${column.name}"`;
  });
  const cursor = `every_${name}`;
  await tx.run(
    `declare ${cursor} no scroll cursor for
     select ${namesOf(columns)} from "${name}" order by ${order.join(", ")}`,
  );
  for (;;) {
    const page = await tx.all(`fetch ${pageRows} from ${cursor}`);
    yield* page;
    if (page.length < pageRows) break;
  }
  await tx.run(`close ${cursor}`);
}

/** Updates the planner's statistics, which newly filled tables lack. */
export async function analyze(tx: Transaction, { name }: Table): Promise<void> {
  await tx.run(`analyze "${name}"`);
}

/** Arrays in PostgreSQL's text syntax, one for each column. */
function columnArrays(table: Table, rows: readonly Row[]): string[] {
  const columns = table.columns.map((): string[] => []);
  for (const row of rows) {
    for (const [i, value] of valuesOf(table, row).entries()) columns[i]?.push(element(value));
  }
  return columns.map((elements) => `{${elements.join(",")}}`);
}

/** @see PostgreSQL, 8.15.6: array input and output syntax */
function element(value: SqlValue): string {
  if (value === null) return "NULL";
  if (typeof value === "number") return String(value);
  return `"${value.replace(/["\\]/g, "\\$&")}"`;
}

function namesOf(columns: readonly Column[]): string {
  return columns.map(({ name }) => `"${name}"`).join(", ");
}
