/** The option `--limit` of the commands that list rows, and the output of these commands. */

import { type CommandOption, type Terminal, usageError } from "@countersign/command-line";
import type { SettingsLine } from "./settings-line.ts";

const LIMIT_MAX = 1_000;

/** An option `--limit` with its default. */
export interface RowLimit {
  readonly option: CommandOption;
  /** @throws CommandError for a value that is not a number of rows */
  read(line: SettingsLine): number;
}

/** @param standard the number of rows without the option */
export function rowLimit(standard: number): RowLimit {
  return {
    option: {
      type: "text",
      value: "COUNT",
      help: `Maximum number of rows, up to ${LIMIT_MAX}. [${standard}]`,
    },
    read(line) {
      const text = line.text("limit");
      if (text === undefined) return standard;
      const limit = /^\d+$/.test(text) ? Number(text) : Number.NaN;
      if (limit >= 1 && limit <= LIMIT_MAX) return limit;
      throw usageError(`--limit must be a whole number from 1 to ${LIMIT_MAX}`);
    },
  };
}

/** The option of most lists. */
export const ROW_LIMIT = rowLimit(50);

export interface RowList {
  /** Every row as JSON. */
  readonly json: readonly string[];
  /** The text instead of an empty table. */
  readonly empty: string;
  renderTable(): string;
  readonly limit: number;
  /** Whether there are more rows than `limit`. */
  readonly hasMore: boolean;
}

export function printRows(
  line: SettingsLine,
  terminal: Terminal,
  { json, empty, renderTable, limit, hasMore }: RowList,
): void {
  if (line.json) {
    terminal.out(`[${json.join(",")}]`);
  } else if (json.length === 0) {
    terminal.out(empty);
  } else {
    terminal.out(renderTable());
    if (hasMore) terminal.note(`Only the first ${limit} are shown. Raise --limit to see more.`);
  }
}
