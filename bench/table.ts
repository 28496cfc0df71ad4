/**
 * The output of the benchmark: tables on standard output, progress on standard error.
 */

/** The first row is the header. The first column is aligned left, numbers are aligned right. */
export function table(rows: readonly (readonly string[])[]): string {
  const [head = []] = rows;
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const write = (row: readonly string[]) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)));
  const lines = rows.map((row) => `| ${write(row).join(" | ")} |`);
  const rule = widths.map((width, i) =>
    i === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`,
  );
  lines.splice(1, 0, `| ${rule.join(" | ")} |`);
  return lines.join("\n");
}

export function reportProgress(progress: string): void {
  console.error(progress);
}

export function perSecond(value: number): string {
  return Math.round(value).toLocaleString("en");
}

export function percent(ratio: number): string {
  return `${(ratio * 100).toFixed(1)} %`;
}

export function times(ratio: number): string {
  return `${ratio.toFixed(2)} x`;
}

export function ms(value: number): string {
  return value.toFixed(value < 100 ? 2 : 0);
}

export function mb(value: number): string {
  return value.toFixed(0);
}

/** @returns nothing for what was not measured */
export function show<T>(value: T | undefined, write: (value: T) => string | string[]): string[] {
  return value === undefined ? [] : [write(value)].flat();
}
