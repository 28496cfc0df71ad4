/**
 * The passes of an import: check the source, copy it, compare the copy. Each pass scans all rows in
 * the order of their keys with a few megabytes in memory.
 */

import { Failure } from "../failure.ts";
import type { Integrity } from "../storage/integrity.ts";
import { analyze, insertRows, readRows } from "../storage/postgres/import-target.ts";
import { isIntactRow } from "../storage/sql/requests/request-rows.ts";
import type { ImportSource } from "../storage/sqlite/import-source.ts";
import type { Row, Transaction } from "../storage/store.ts";
import { type Content, ContentDigest, nameOf, sizeOf, type Table } from "../storage/table.ts";

/** Limits of the rows in memory; the first one that is reached applies. */
const ROWS_PER_STEP_MAX = 2_000;
const CHARS_PER_STEP_MAX = 4_000_000;

/** Called every {@link ROWS_PER_REPORT} rows of a table, with the number of processed rows. */
export type OnProgress = (step: Step, table: string, rows: number) => void;

export type Step = "check" | "copy" | "compare";

const ROWS_PER_REPORT = 50_000;

/** A row that was altered or is damaged. */
export interface DamagedRow {
  readonly table: string;
  /** The identifiers that operators know. */
  readonly key: readonly string[];
  readonly reason: string;
  /** True when it can be copied unchanged. */
  readonly canBeCopied: boolean;
}

export interface Examined {
  readonly contents: readonly Content[];
  readonly damaged: readonly DamagedRow[];
  /** By table: how many rows fit into memory at a time, for any rows. */
  readonly pageRows: ReadonlyMap<string, number>;
}

/** Scans all rows that the import will copy, and checks them. */
export function examine(
  source: ImportSource,
  tables: readonly Table[],
  integrity: Integrity,
  onProgress: OnProgress,
): Examined {
  const damaged: DamagedRow[] = [];
  const pageRows = new Map<string, number>();
  const contents = tables.map((table) => {
    for (const orphan of source.orphans(table)) {
      damaged.push({ ...orphan, table: table.name, canBeCopied: false });
    }
    const digest = new ContentDigest(table);
    const findFault = source.faultFinder(table);
    const count = counter("check", table, onProgress);
    let largest = 1;
    for (const row of source.rows(table)) {
      const fault = findFault(row);
      const reason = fault ?? findMismatch(integrity, table, row);
      if (reason !== undefined) {
        const key = nameOf(table, row);
        damaged.push({ table: table.name, key, reason, canBeCopied: fault === undefined });
      }
      digest.add(row);
      largest = Math.max(largest, sizeOf(table, row));
      count(1);
    }
    const fitting = Math.floor(CHARS_PER_STEP_MAX / largest);
    pageRows.set(table.name, Math.min(ROWS_PER_STEP_MAX, Math.max(1, fitting)));
    return digest.end();
  });
  return { contents, damaged, pageRows };
}

export async function copy(
  tx: Transaction,
  source: ImportSource,
  tables: readonly Table[],
  onProgress: OnProgress,
): Promise<void> {
  for (const table of tables) {
    const count = counter("copy", table, onProgress);
    // Reads the next step while one is written.
    let writing: Promise<void> = Promise.resolve();
    for (const rows of inSteps(table, source.rows(table))) {
      await writing;
      count(rows.length);
      writing = insertRows(tx, table, rows);
    }
    await writing;
    await analyze(tx, table);
  }
}

/**
 * @param isAdded matches rows that the import itself has added
 * @throws Failure with the first table that differs
 */
export async function assertSame(
  tx: Transaction,
  tables: readonly Table[],
  { contents, pageRows }: Examined,
  isAdded: (table: Table, row: Row) => boolean,
  onProgress: OnProgress,
): Promise<void> {
  for (const table of tables) {
    const count = counter("compare", table, onProgress);
    const digest = new ContentDigest(table);
    for await (const row of readRows(tx, table, pageRows.get(table.name) ?? 1)) {
      if (!isAdded(table, row)) digest.add(row);
      count(1);
    }
    assertEqual(
      contents.find((content) => content.table === table.name),
      digest.end(),
    );
  }
}

function assertEqual(source: Content | undefined, target: Content): void {
  if (source?.rows === target.rows && source.digest === target.digest) return;
  throw new Failure(
    "import",
    `table ${target.table} differs between source and target: ` +
      `${source?.rows ?? 0} rows ${source?.digest} in the source, ` +
      `${target.rows} rows ${target.digest} at database_url`,
  );
}

function findMismatch(integrity: Integrity, { name }: Table, row: Row): string | undefined {
  if (name !== "request" || isIntactRow(integrity, row)) return undefined;
  return "its content does not match its MAC or checksum";
}

function* inSteps(table: Table, rows: Iterable<Row>): Generator<Row[]> {
  let step: Row[] = [];
  let size = 0;
  for (const row of rows) {
    step.push(row);
    size += sizeOf(table, row);
    if (step.length < ROWS_PER_STEP_MAX && size < CHARS_PER_STEP_MAX) continue;
    yield step;
    step = [];
    size = 0;
  }
  if (step.length > 0) yield step;
}

/** @returns a function that counts rows */
function counter(step: Step, { name }: Table, onProgress: OnProgress): (more: number) => void {
  let rows = 0;
  let reported = 0;
  return (more) => {
    rows += more;
    if (rows - reported < ROWS_PER_REPORT) return;
    reported = rows;
    onProgress(step, name, rows);
  };
}
