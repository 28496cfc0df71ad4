/**
 * Tables as text, with columns of the same width on every row.
 */

import { excerpt } from "@countersign/protocol";

/** Pads each column to its widest cell, except the last column. */
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
  /** Of the last column the minimum: it uses the rest of the line. */
  readonly width: number;
}

/**
 * Rows below a head. Cells are shortened to their column, and control characters are escaped.
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
