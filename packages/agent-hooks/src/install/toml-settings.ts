/**
 * Adds a hook to a settings file of TOML, and removes it. Everything else stays unchanged.
 *
 * Pure. Each hook is a table `[[hooks]]` that names its `event`.
 */

import { isDeepStrictEqual } from "node:util";
import { parseConfig, UnusableConfig } from "../codex/config.ts";
import { removeParts } from "./inserted-parts.ts";
import { type Handler, singleHandler, UnusableSettings } from "./settings-handler.ts";

/**
 * The handlers of these events.
 *
 * @throws UnusableSettings when the text is not readable
 */
export function tomlHandlers(text: string, events: readonly string[]): Handler[] {
  return tablesIn(text).flatMap(({ event, ...value }, index) => {
    if (typeof event !== "string" || !events.includes(event)) return [];
    return [singleHandler(event, index, value)];
  });
}

/**
 * Adds a table to the end of the file.
 *
 * @returns the text, and the new part of it
 * @throws UnusableSettings
 */
export function insertTable(
  text: string,
  event: string,
  handler: object,
): { readonly text: string; readonly inserted: string } {
  const lineEnd = text.includes("\r\n") ? "\r\n" : "\n";
  const members = Object.entries({ event, ...handler }).map(([name, value]) => {
    // A string of JSON is also a string of TOML.
    return `${name} = ${JSON.stringify(value)}`;
  });
  const table = ["[[hooks]]", ...members, ""].join(lineEnd);
  const inserted = `${gapAfter(text, lineEnd)}${table}`;
  const edited = text + inserted;
  const wanted = [...tablesIn(text), { event, ...handler }];
  if (!hasOnlyOtherTables(text, edited, wanted)) {
    throw new UnusableSettings("adding the hook would change other settings");
  }
  return { text: edited, inserted };
}

/** An empty line before the new table. */
function gapAfter(text: string, lineEnd: string): string {
  if (text === "") return "";
  return text.endsWith("\n") ? lineEnd : lineEnd + lineEnd;
}

/** The lines of a table: its header, and the members directly below it. */
const TABLE = /^[ \t]*\[\[[ \t]*hooks[ \t]*\]\][^\n]*(?:\n[ \t]*[\w"'-]+[ \t]*=[^\n]*)*(?:\n|$)/gm;

/**
 * Removes the tables of install: exactly the inserted texts where they are unchanged, otherwise
 * their lines, because an agent may have rewritten the file.
 *
 * @param inserted in the order of the insertions
 * @throws UnusableSettings when the lines of a table are not clear
 */
export function removeTables(
  text: string,
  isOwn: (value: Handler["value"]) => boolean,
  inserted: readonly string[] = [],
): string {
  let left = removeParts(text, inserted, parsed);
  for (;;) {
    const tables = tablesIn(left);
    const index = tables.findIndex(isOwn);
    if (index === -1) return left;
    left = withoutTable(left, tables.toSpliced(index, 1));
  }
}

function withoutTable(text: string, wanted: readonly object[]): string {
  for (const { index, 0: lines } of text.matchAll(TABLE)) {
    const rest = text.slice(0, index) + text.slice(index + lines.length);
    if (hasOnlyOtherTables(text, rest, wanted)) return rest;
  }
  throw new UnusableSettings("delete the [[hooks]] table of countersign-hook in an editor");
}

/** Whether the edit gives the file these tables, and changes nothing else in it. */
function hasOnlyOtherTables(before: string, after: string, tables: readonly object[]): boolean {
  try {
    const { hooks: _, ...others } = parsed(before);
    const { hooks = [], ...now } = parsed(after);
    return isDeepStrictEqual(others, now) && isDeepStrictEqual(plain(hooks), plain(tables));
  } catch {
    return false;
  }
}

/** Without the prototypes of the parser, which has its own for tables. */
function plain(tables: unknown): unknown {
  return structuredClone(tables);
}

function tablesIn(text: string): Readonly<Record<string, unknown>>[] {
  const { hooks = [] } = parsed(text);
  if (!Array.isArray(hooks)) throw new UnusableSettings("hooks is not a list of tables");
  return hooks.map((table) => Object(table));
}

/** @throws UnusableSettings */
function parsed(text: string): Record<string, unknown> {
  try {
    return parseConfig(text);
  } catch (error) {
    if (!(error instanceof UnusableConfig)) throw error;
    throw new UnusableSettings(error.message);
  }
}
