/** The option `--limit` of the commands that list rows, and the output of these commands. */

import { type CommandOptions, type Terminal, usageError } from "@countersign/command-line";
import type { SettingsLine } from "./settings-line.ts";

export const LIMIT_MAX = 1_000;

/** The default of `--limit`. */
const LIMIT = 50;

export function limitOption(standard = LIMIT): CommandOptions[string] {
  return {
    type: "text",
    value: "COUNT",
    help: `Maximum number of rows, up to ${LIMIT_MAX}. [${standard}]`,
  };
}

/** @throws CommandError */
export function limitOf(line: SettingsLine, standard = LIMIT): number {
  const limit = Number(line.text("limit") ?? standard);
  if (Number.isInteger(limit) && limit >= 1 && limit <= LIMIT_MAX) return limit;
  throw usageError(`--limit must be a whole number from 1 to ${LIMIT_MAX}`);
}

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
