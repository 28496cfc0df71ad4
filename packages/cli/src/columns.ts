/**
 * Tables for people, in columns of the same width on every row.
 */

import { excerpt } from "./visible-text.ts";

/** Rows under each other, each column as wide as its widest cell; the last one ends as it does. */
export function renderColumns(rows: readonly (readonly string[])[]): string {
  const count = Math.max(...rows.map((row) => row.length));
  const widths = Array.from({ length: count - 1 }, (_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  );
  return rows
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "))
    .join("\n");
}

export interface FixedColumn {
  readonly head: string;
  /** Of the last column the least: it fills what the others leave. */
  readonly width: number;
}

/**
 * Rows below a head, each cell cut to its column and with nothing in it that a terminal obeys.
 *
 * @param columns width of the terminal
 */
export function renderTableOf(
  fixed: readonly FixedColumn[],
  rows: readonly (readonly string[])[],
  columns: number,
): string {
  const last = fixed.length - 1;
  const taken = fixed.slice(0, last).reduce((sum, { width }) => sum + width + GAP.length, 0);
  const widths = fixed.map(({ width }, i) => (i < last ? width : Math.max(width, columns - taken)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => excerpt(cell, widths[i] ?? 0).padEnd(widths[i] ?? 0))
      .join(GAP)
      .trimEnd();
  return [fixed.map(({ head }) => head), ...rows].map(line).join("\n");
}

const GAP = "  ";
